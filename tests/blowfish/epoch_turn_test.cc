#include "blowfish/server/epoch_turn.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;

// Goal: a holder that is never resumed ends with the io_context, after the server. Method: the
// address sanitizer sees what it uses then.
TEST_CASE("a turn may end after all turns are gone") {
  int holders = 0;
  {
    asio::io_context context;
    auto turns = std::make_unique<EpochTurn>(context.get_executor());
    const auto hold = [&]() -> asio::awaitable<void> {
      const EpochTurn::Turn turn = co_await turns->Enter();
      ++holders;
      asio::steady_timer timer(context, std::chrono::hours(1));
      co_await timer.async_wait(asio::use_awaitable);
    };
    asio::co_spawn(context, hold, asio::detached);
    asio::co_spawn(context, hold, asio::detached);
    context.poll();
    turns.reset();
  }
  CHECK(holders == 1);  // the other one still waited
}

TEST_CASE("a turn begins when the one before it ends") {
  asio::io_context context;
  EpochTurn turns(context.get_executor());
  int holders = 0;
  int turn_number = 0;
  const auto hold = [&]() -> asio::awaitable<void> {
    const EpochTurn::Turn turn = co_await turns.Enter();
    CHECK(++holders == 1);
    ++turn_number;
    co_await asio::post(context, asio::use_awaitable);
    --holders;
  };
  for (int i = 0; i < 3; ++i) asio::co_spawn(context, hold, asio::detached);
  context.run();
  CHECK(turn_number == 3);
}

}  // namespace
}  // namespace stout::blowfish
