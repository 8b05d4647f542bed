#include "node/run_together.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "stout/completion.h"
#include "stout/join.h"

namespace stout::node {

namespace asio = boost::asio;

asio::awaitable<void> RunTogether(std::vector<asio::awaitable<void>> all) {
  if (all.size() == 1) {
    co_await std::move(all.front());
    co_return;
  }
  std::exception_ptr failed;
  const auto executor = co_await asio::this_coro::executor;
  co_await Initiate<void(ErrorCode)>(
      [&](UniqueFunction<void(ErrorCode)> done) {
        const auto join = internal::Join::Of(all.size(), std::move(done));
        for (asio::awaitable<void>& one : all) {
          asio::co_spawn(executor, std::move(one), [join, &failed](std::exception_ptr why) {
            if (why) failed = why;
            join->Finish({});
          });
        }
      },
      asio::use_awaitable);
  if (failed) std::rethrow_exception(failed);
}

}  // namespace stout::node
