#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/zipf.h"
#include "members/load.h"
#include "resp/client/address.h"
#include "resp/client/connection.h"
#include "stout/adapters/hash_slot.h"
#include "stout/clock.h"
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

using PeerPtr = std::shared_ptr<const resp::Peer>;

PeerPtr MakePeer(resp::Address address, resp::Commands greeting = {}) {
  return std::make_shared<const resp::Peer>(resp::Peer{.name = resp::NameOf(address),
                                                       .address = std::move(address),
                                                       .greeting = std::move(greeting),
                                                       .timeout = std::chrono::seconds(60),
                                                       .connect_timeout = std::chrono::seconds(10),
                                                       .reports = false});
}

asio::awaitable<std::unique_ptr<resp::Connection>> Open(PeerPtr peer) {
  auto connection =
      std::make_unique<resp::Connection>(std::move(peer), co_await asio::this_coro::executor);
  if (const std::string why = co_await connection->Connect(); !why.empty())
    throw std::runtime_error(why);
  co_return connection;
}

// The owners of slots.
struct Owners {
  std::vector<PeerPtr> peers;
  std::vector<std::size_t> of_slot;  // index in `peers`; empty: each client uses its own server
};

asio::awaitable<void> FindOwners(PeerPtr server, Owners& owners) {
  const auto connection = co_await Open(std::move(server));
  resp::Commands commands;
  commands.Add({"CLUSTER", "SLOTS"});
  const resp::Outcome outcome = co_await connection->Run(commands);
  std::size_t covered = 0;
  std::vector<std::string> names;
  owners.of_slot.resize(redis::kSlots);
  for (const resp::Reply& part : outcome.replies.at(0).elements) {
    const auto first = static_cast<std::size_t>(part.elements.at(0).integer);
    const auto last = static_cast<std::size_t>(part.elements.at(1).integer);
    const std::vector<resp::Reply>& node = part.elements.at(2).elements;
    resp::Address address{.host = node.at(0).text,
                          .port = static_cast<std::uint16_t>(node.at(1).integer)};
    const auto known = std::ranges::find(names, resp::NameOf(address));
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) {
      names.push_back(resp::NameOf(address));
      owners.peers.push_back(MakePeer(std::move(address)));
    }
    for (std::size_t slot = first; slot <= last; ++slot) owners.of_slot.at(slot) = index;
    covered += last - first + 1;
  }
  if (covered != redis::kSlots) throw std::runtime_error("not every slot has an owner");
}

void Rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
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
  std::vector<resp::Address> servers;
  Owners owners;
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

// Returns the first error among the answers, or "". Then `missing` grows by the keys that were not
// found.
asio::awaitable<std::string> Send(resp::Connection& connection, const resp::Commands& commands,
                                  std::uint64_t* missing) {
  const resp::Outcome outcome = co_await connection.Run(commands);
  if (outcome.errc != Errc::kOk) throw std::runtime_error(outcome.message);
  std::uint64_t nils = 0;
  for (const resp::Reply& reply : outcome.replies) {
    if (reply.error()) co_return reply.text;
    nils += reply.kind == resp::Reply::Kind::kNil ? 1 : 0;
  }
  *missing += nils;
  co_return "";
}

// The connections of one client.
struct Links {
  asio::awaitable<void> OpenAll(const ServerRun& run, std::size_t client) {
    const resp::Address& own = run.servers[client % run.servers.size()];
    of_slot = run.owners.of_slot;
    if (of_slot.empty()) strong.push_back(co_await Open(MakePeer(own)));
    for (const PeerPtr& peer : run.owners.peers) strong.push_back(co_await Open(peer));
    if (run.load.relaxed == 0) co_return;
    resp::Commands greeting;
    greeting.Add({"READONLY"});
    relaxed = co_await Open(MakePeer(own, std::move(greeting)));
  }

  [[nodiscard]] resp::Connection& For(std::string_view key, LoadResult::Kind kind) const {
    if (kind == LoadResult::kRelaxedGet) return *relaxed;
    return *strong[of_slot.empty() ? 0 : of_slot[redis::SlotOf(key)]];
  }

  std::vector<std::unique_ptr<resp::Connection>> strong;
  std::span<const std::size_t> of_slot;
  std::unique_ptr<resp::Connection> relaxed;
};

// Chooses keys and kinds of requests.
class Choice {
 public:
  Choice(const Load& load, const std::vector<std::uint64_t>& keys, std::uint64_t seed)
      : load_(load), keys_(keys), random_(seed) {
    if (load.zipf > 0) zipf_.emplace(static_cast<std::uint32_t>(keys.size()), load.zipf);
  }
  LoadResult::Kind Kind() {
    if (load_.gets + load_.scans == 0) return LoadResult::kSet;
    const std::uint64_t percent = random_.Below(100);
    if (percent >= load_.gets + load_.scans) return LoadResult::kSet;
    if (percent >= load_.gets) return LoadResult::kScan;
    const bool relaxed = load_.relaxed > 0 && random_.Below(100) < load_.relaxed;
    return relaxed ? LoadResult::kRelaxedGet : LoadResult::kGet;
  }
  std::string ScanKeys() { return fmt::to_string(1 + random_.Below(load_.scan_keys)); }
  std::string Key() {
    return KeyOf(keys_[zipf_ ? zipf_->Draw(random_) : random_.Below(keys_.size())]);
  }

 private:
  const Load& load_;
  const std::vector<std::uint64_t>& keys_;
  SplitMix64 random_;
  std::optional<load::Zipf> zipf_;
};

std::string NewValue(const Load& load) {
  if (!load.samples) return std::string(load.value_bytes, 'x');
  return SampleAt(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
}

asio::awaitable<void> Fill(const Load& load, const Links& links, std::size_t client) {
  std::uint64_t missing = 0;  // SETs find no keys
  for (std::uint64_t number = client; number < load.keys; number += load.clients) {
    const std::string key = KeyOf(number);
    resp::Commands commands;
    commands.Add({"SET", key, NewValue(load)});
    const std::string error = co_await Send(links.For(key, LoadResult::kSet), commands, &missing);
    if (!error.empty()) throw std::runtime_error(error);
  }
}

asio::awaitable<void> RunClient(ServerRun& run, std::size_t number) {
  const Load& load = run.load;
  Links links;
  co_await links.OpenAll(run, number);
  if (load.fill) co_return co_await Fill(load, links, number);
  asio::steady_timer timer(run.context);
  const std::size_t range = number % load.ranges;
  Choice choice(load, run.keys[range], number);
  const std::string replicas = fmt::to_string(run.wait);
  for (std::uint64_t turn = number;; turn += load.clients) {
    TimePoint sent = SteadyNow();
    if (load.rate > 0) {
      const double due = static_cast<double>(turn * load.pipeline) / static_cast<double>(load.rate);
      sent = run.begin + Duration(static_cast<std::int64_t>(due * 1e9));
      co_await Until(timer, sent);
    }
    if (SteadyNow() >= run.end()) {
      if (load.rate == 0 || sent >= run.end()) co_return;
      // It takes at least that long. Without it, an overload would look quick.
      run.result.AddLatency(run.end() - sent, choice.Kind());
      continue;
    }
    resp::Commands commands;
    LoadResult::Kind kind = LoadResult::kSet;
    std::string key;
    for (std::size_t i = 0; i < load.pipeline; ++i) {
      kind = choice.Kind();
      key = choice.Key();
      if (kind == LoadResult::kSet) {
        commands.Add({"SET", key, NewValue(load)});
      } else if (kind == LoadResult::kScan) {
        commands.Add({"STOUT.RANGE", key, "", "LIMIT", choice.ScanKeys(), "VALUES"});
      } else {
        commands.Add({"GET", key});
      }
    }
    if (run.wait > 0) commands.Add({"WAIT", replicas, "0"});
    resp::Connection& connection = links.For(key, kind);
    // A request that is refused is tried again, and takes as long as all its attempts.
    for (;;) {
      const std::string error = co_await Send(connection, commands, &run.result.missing);
      const TimePoint now = SteadyNow();
      if (error.empty()) {
        run.result.Add(load, run.begin, sent, now, load.pipeline, kind);
        if (run.timeline != nullptr) run.timeline->Answered(range, now - sent, load.pipeline, now);
        break;
      }
      if (run.timeline == nullptr) throw std::runtime_error(error);
      run.timeline->Refused();
      co_await Until(timer, now + kPause);
      if (SteadyNow() < run.end()) continue;
      run.result.AddLatency(run.end() - sent, kind);  // as above
      break;
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

LoadResult RunOnServer(Load& load, const std::string& servers, std::size_t wait,
                       Timeline* timeline) {
  auto authority = resp::ReadAuthority(servers, 6379);
  if (!authority || authority->addresses.empty())
    throw std::runtime_error(fmt::format("'{}' is not HOST:PORT[,HOST:PORT...]", servers));
  Owners owners;
  if (load.slots) {
    asio::io_context context(1);
    asio::co_spawn(context, FindOwners(MakePeer(authority->addresses.front()), owners), Rethrow);
    context.run();
  }
  ServerRun run(load, timeline);
  run.wait = wait;
  run.servers = std::move(authority->addresses);
  run.owners = std::move(owners);
  run.stop.async_wait([&run](boost::system::error_code cut, int) {
    if (!cut) run.Stop();
  });
  for (std::size_t i = 0; i < load.clients; ++i) {
    asio::co_spawn(run.context, RunClient(run, i), [&run](const std::exception_ptr& error) {
      Rethrow(error);
      run.OnClientEnd();
    });
  }
  if (timeline != nullptr) {
    timeline->Begin(run.begin);
    asio::co_spawn(run.context, WriteLines(run), Rethrow);
  }
  run.context.run();
  return std::move(run.result);
}

}  // namespace stout::bench
