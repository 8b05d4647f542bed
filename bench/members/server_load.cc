#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "members/load.h"
#include "resp/client/address.h"
#include "resp/client/connection.h"
#include "stout/adapters/hash_slot.h"
#include "stout/core/random.h"

namespace stout::bench {

namespace {

namespace asio = boost::asio;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr Duration kPause = std::chrono::milliseconds(5);  // after a refusal

std::vector<std::vector<std::uint64_t>> KeysOfRanges(const Load& load) {
  std::vector<std::vector<std::uint64_t>> keys(load.ranges);
  for (std::uint64_t key = 0; key < load.keys; ++key)
    keys[redis::SlotOf(KeyOf(key)) * load.ranges / redis::kSlots].push_back(key);
  if (std::ranges::any_of(keys, [](const auto& some) { return some.empty(); }))
    throw std::runtime_error("a range has no key: raise --keys");
  return keys;
}

// The state that the clients share.
struct ServerRun {
  ServerRun(Load& load, Timeline* timeline)
      : load(load), timeline(timeline), keys(KeysOfRanges(load)), left(load.clients) {}

  [[nodiscard]] TimePoint end() const { return begin + load.warm_up + load.measure; }
  void Stop() {
    const Duration measured = SteadyNow() - (begin + load.warm_up);
    load.measure = std::min(load.measure, std::max(measured, kPause));
  }
  void OnClientEnd() {
    if (--left > 0) return;
    tick.cancel();
    stop.cancel();
  }

  Load& load;
  Timeline* const timeline;
  const std::vector<std::vector<std::uint64_t>> keys;
  std::size_t left;  // clients
  std::shared_ptr<const resp::Peer> peer;
  std::size_t wait = 0;
  asio::io_context context{1};
  asio::steady_timer tick{context};
  asio::signal_set stop{context, SIGTERM};
  const TimePoint begin = SteadyNow();
  LoadResult result;
};

asio::awaitable<void> Until(asio::steady_timer& timer, TimePoint time) {
  timer.expires_at(std::chrono::steady_clock::time_point(time.time_since_epoch()));
  co_await timer.async_wait(kAwait);
}

// Returns the first error among the answers, or "".
asio::awaitable<std::string> Send(resp::Connection& connection, const resp::Commands& commands) {
  const resp::Outcome outcome = co_await connection.Run(commands);
  if (outcome.errc != Errc::kOk) throw std::runtime_error(outcome.message);
  for (const resp::Reply& reply : outcome.replies) {
    if (reply.error()) co_return reply.text;
  }
  co_return "";
}

asio::awaitable<void> RunClient(ServerRun& run, std::size_t number) {
  const Load& load = run.load;
  resp::Connection connection(run.peer, run.context.get_executor());
  if (const std::string why = co_await connection.Connect(); !why.empty())
    throw std::runtime_error(why);
  asio::steady_timer timer(run.context);
  SplitMix64 random(number);
  const std::size_t range = number % load.ranges;
  const std::vector<std::uint64_t>& keys = run.keys[range];
  const std::string value(load.value_bytes, 'x');
  const std::string replicas = fmt::to_string(run.wait);
  for (std::uint64_t turn = number;; turn += load.clients) {
    TimePoint sent = SteadyNow();
    if (load.rate > 0) {
      const double due = static_cast<double>(turn * load.pipeline) / static_cast<double>(load.rate);
      sent = run.begin + Duration(static_cast<std::int64_t>(due * 1e9));
      co_await Until(timer, sent);
    }
    if (SteadyNow() >= run.end()) co_return;
    resp::Commands commands;
    for (std::size_t i = 0; i < load.pipeline; ++i)
      commands.Add({"SET", KeyOf(keys[random.Below(keys.size())]), value});
    if (run.wait > 0) commands.Add({"WAIT", replicas, "0"});
    const std::string error = co_await Send(connection, commands);
    const TimePoint now = SteadyNow();
    if (error.empty()) {
      run.result.Add(load, run.begin, sent, now, load.pipeline);
      if (run.timeline != nullptr) run.timeline->Answered(range, now - sent, load.pipeline, now);
    } else if (run.timeline == nullptr) {
      throw std::runtime_error(error);
    } else {
      run.timeline->Refused();
      co_await Until(timer, now + kPause);
    }
  }
}

asio::awaitable<void> WriteLines(ServerRun& run) {
  for (TimePoint next = run.begin + Timeline::kInterval; run.left > 0;
       next += Timeline::kInterval) {
    co_await Until(run.tick, next);
    run.timeline->WriteLine();
  }
  run.timeline->End(SteadyNow());
}

}  // namespace

LoadResult RunOnServer(Load& load, const std::string& address, std::size_t wait,
                       Timeline* timeline) {
  const auto authority = resp::ReadAuthority(address, 6379);
  if (!authority || authority->addresses.size() != 1)
    throw std::runtime_error(fmt::format("'{}' is not HOST:PORT", address));
  ServerRun run(load, timeline);
  run.wait = wait;
  run.peer =
      std::make_shared<const resp::Peer>(resp::Peer{.name = address,
                                                    .address = authority->addresses.front(),
                                                    .greeting = {},
                                                    .timeout = std::chrono::seconds(60),
                                                    .connect_timeout = std::chrono::seconds(10),
                                                    .reports = false});
  const auto rethrow = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  run.stop.async_wait([&run](boost::system::error_code cut, int) {
    if (!cut) run.Stop();
  });
  for (std::size_t i = 0; i < load.clients; ++i) {
    asio::co_spawn(run.context, RunClient(run, i), [&run, rethrow](std::exception_ptr error) {
      rethrow(error);
      run.OnClientEnd();
    });
  }
  if (timeline != nullptr) {
    timeline->Begin(run.begin);
    asio::co_spawn(run.context, WriteLines(run), rethrow);
  }
  run.context.run();
  return std::move(run.result);
}

}  // namespace stout::bench
