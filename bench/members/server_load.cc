#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <stdexcept>

#include "members/load.h"
#include "resp/client/address.h"
#include "resp/client/connection.h"
#include "stout/core/random.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

TimePoint NowOf() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }

asio::awaitable<void> RunClient(const Load& load, std::shared_ptr<const resp::Peer> peer,
                                asio::any_io_executor executor, std::size_t wait,
                                std::uint64_t seed, TimePoint begin, LoadResult& result) {
  resp::Connection connection(std::move(peer), executor);
  if (const std::string why = co_await connection.Connect(); !why.empty())
    throw std::runtime_error(why);
  SplitMix64 random(seed);
  const std::string value(load.value_bytes, 'x');
  const std::string replicas = fmt::to_string(wait);
  const TimePoint end = begin + load.warm_up + load.measure;
  for (TimePoint sent = NowOf(); sent < end;) {
    resp::Commands commands;
    for (std::size_t i = 0; i < load.pipeline; ++i) {
      commands.Add({"SET", KeyOf(random.Below(load.keys)), value});
    }
    if (wait > 0) commands.Add({"WAIT", replicas, "0"});
    const resp::Outcome outcome = co_await connection.Run(commands);
    if (outcome.errc != Errc::kOk) throw std::runtime_error(outcome.message);
    for (const resp::Reply& reply : outcome.replies) {
      if (reply.error()) throw std::runtime_error(reply.text);
    }
    const TimePoint now = NowOf();
    result.Add(load, begin, sent, now, load.pipeline);
    sent = now;
  }
}

}  // namespace

LoadResult RunOnServer(const Load& load, const std::string& address, std::size_t wait) {
  const auto authority = resp::ReadAuthority(address, 6379);
  if (!authority || authority->addresses.size() != 1)
    throw std::runtime_error(fmt::format("'{}' is not HOST:PORT", address));
  const auto peer =
      std::make_shared<const resp::Peer>(resp::Peer{.name = address,
                                                    .address = authority->addresses.front(),
                                                    .greeting = {},
                                                    .timeout = std::chrono::seconds(60),
                                                    .connect_timeout = std::chrono::seconds(10)});
  asio::io_context context(1);
  LoadResult result;
  const TimePoint begin = NowOf();
  for (std::size_t i = 0; i < load.clients; ++i) {
    asio::co_spawn(context, RunClient(load, peer, context.get_executor(), wait, i, begin, result),
                   [](std::exception_ptr error) {
                     if (error) std::rethrow_exception(error);
                   });
  }
  context.run();
  return result;
}

}  // namespace stout::bench
