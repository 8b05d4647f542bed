#include "setup.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>

#include "stout/adapters/store_url.h"

namespace stout::redis {

namespace asio = boost::asio;

asio::awaitable<bool> Inspect(Connection& connection, ServerFacts* facts) {
  const Commands questions = Questions();
  const Outcome outcome = co_await connection.Run(questions);
  if (outcome.errc != Errc::kOk) co_return false;
  *facts = FactsOf(outcome.replies);
  co_return true;
}

Result<ServerFacts> SetUp(const std::shared_ptr<const RedisOptions>& options, const Target& target,
                          Diagnostics* diagnostics) {
  // Uses a context of its own, because the caller's executor may be the thread that waits here.
  asio::io_context io;
  Connection connection(options, target, io.get_executor());
  ServerFacts facts;
  Outcome outcome;
  const auto ask = [&]() -> asio::awaitable<void> {
    outcome = co_await connection.Open();
    if (outcome.errc != Errc::kOk) co_return;
    const bool answered = co_await Inspect(connection, &facts);
    if (!answered) {
      outcome.errc = Errc::kTransient;
      outcome.message = "the connection was lost";
    }
  };
  asio::co_spawn(io, ask, [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
  if (outcome.errc == Errc::kOk && facts.replica) {
    outcome.errc = Errc::kTransient;
    outcome.message = "it is a replica";
  }
  if (outcome.errc != Errc::kOk) {
    return Fail(outcome.errc, fmt::format("redis {}: {}", NameOf(target.address), outcome.message),
                diagnostics);
  }
  return facts;
}

}  // namespace stout::redis
