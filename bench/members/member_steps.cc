// member-steps: gets in an open loop from blowfish-servers with equal data, each from the server
// with the shortest queue, and what each server does meanwhile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "members/filled_map.h"
#include "members/load.h"
#include "members/read_keys.h"
#include "program/command_line.h"
#include "program/options.h"
#include "resp/client/address.h"
#include "resp/client/connection.h"
#include "shard/load/schedule.h"
#include "shard/load/shard_figures.h"
#include "stout/adapters/open_store.h"
#include "stout/clock.h"
#include "stout/core/histogram.h"
#include "stout/core/random.h"
#include "stout/forwarding_store.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

constexpr Duration kSlice = std::chrono::milliseconds(250);
constexpr Duration kTimeout = std::chrono::seconds(60);  // no member leaves because it is slow

struct Options {
  std::vector<std::uint16_t> ports;
  std::string keys;
  std::vector<shard::Phase> phases;
};

std::variant<Options, program::ExitCode> Parse(int argc, const char* const* argv) {
  CLI::App app(
      "Offers gets of random keys to blowfish-servers with equal data. Each get goes to the server "
      "with the shortest queue, and is due at its own time, even if earlier ones wait. "
      "Prints a line of JSON about every 250 ms.",
      "member-steps");
  program::Options options(app);
  Options parsed;
  app.add_option("--port", parsed.ports, "The port of a server on this machine; several times")
      ->required()
      ->type_name("PORT");
  options.Text("--keys", parsed.keys, "A file with the keys, one in each line", "FILE")->required();
  std::vector<std::string> phases;
  options
      .Texts("--phase", phases, "Gets per second for this time; the next --phase follows",
             "RATE:TIME")
      ->required();
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  for (const std::string& text : phases) {
    const auto phase = shard::ParsePhase(text);
    if (!phase)
      throw std::runtime_error(fmt::format("--phase {}: not RATE:TIME, like 2000:10s", text));
    parsed.phases.push_back(*phase);
  }
  return parsed;
}

// Counts the keys that a store has read.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    ForwardingStore::Read(batch, [this, keys = batch.keys.size(),
                                  handler = std::move(handler)](ReadResult result) mutable {
      if (result.errc == Errc::kOk) keys_read_ += keys;
      handler(std::move(result));
    });
  }
  [[nodiscard]] std::uint64_t keys_read() const { return keys_read_; }

 private:
  std::atomic<std::uint64_t> keys_read_ = 0;  // the store may answer on any thread
};

struct Member {
  Member(std::uint16_t port, const asio::any_io_executor& executor) {
    const resp::Address address{.host = "127.0.0.1", .port = port};
    Diagnostics why;
    auto opened = OpenStore("blowfish://" + resp::NameOf(address), executor, &why);
    if (!opened) throw std::runtime_error(why.message);
    server = *std::move(opened);
    store = std::make_unique<CountingStore>(*server);
    const auto peer = std::make_shared<const resp::Peer>(resp::Peer{.name = resp::NameOf(address),
                                                                    .address = address,
                                                                    .timeout = kTimeout,
                                                                    .connect_timeout = kTimeout});
    connection = std::make_unique<resp::Connection>(peer, executor);
  }

  // Returns what the server reports of its shard.
  asio::awaitable<shard::ShardFigures> Figures() {
    resp::Commands info;
    info.Add({"INFO", "shards"});
    if (!connection->Usable()) co_await connection->Connect();
    const resp::Outcome outcome = co_await connection->Run(info);
    if (outcome.errc != Errc::kOk) throw std::runtime_error(outcome.message);
    co_return shard::ParseShardFigures(outcome.replies.front().text).at(0);
  }

  std::unique_ptr<Store> server;
  std::unique_ptr<CountingStore> store;
  std::unique_ptr<resp::Connection> connection;
  std::uint64_t asked = 0, reads = 0;  // keys until the end of the last slice
  std::uint64_t answered = 0;          // in that slice
  std::int64_t queue = 0;              // at its end
};

// All runs on the strand of the map.
class Steps {
 public:
  Steps(const Options& options, asio::io_context& context)
      : keys_(ReadKeys(options.keys)), schedule_(options.phases) {
    std::vector<Store*> stores;
    for (const std::uint16_t port : options.ports) {
      members_.push_back(std::make_unique<Member>(port, context.get_executor()));
      stores.push_back(members_.back()->store.get());
    }
    map_ = MakeFilledMap(context, stores, {.cache_bytes = 0, .member_timeout = kTimeout});
  }

  void Run(asio::io_context& context) {
    std::size_t running = 0;
    const auto spawn = [&](asio::awaitable<void> task) {
      ++running;
      asio::co_spawn(asio::any_io_executor(map_->get_executor()), std::move(task),
                     [&running](const std::exception_ptr& error) {
                       if (error) std::rethrow_exception(error);
                       --running;
                     });
    };
    begin_ = SteadyNow();
    Count();
    for (const auto& member : members_) member->queue = 0;  // the map's own reads are over
    spawn(Offer());
    spawn(Report());
    while (running > 0 || under_way_ > 0) context.run_one();
  }

 private:
  asio::awaitable<void> Until(TimePoint time) {
    asio::steady_timer timer(co_await asio::this_coro::executor,
                             std::chrono::steady_clock::time_point(time.time_since_epoch()));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }

  // Gets are a Poisson process.
  asio::awaitable<void> Offer() {
    const auto next = [this] { return -std::log1p(-random_.Unit()); };
    double count = next();
    for (auto due = schedule_.TimeOf(count); due; due = schedule_.TimeOf(count += next())) {
      if (begin_ + *due > SteadyNow()) co_await Until(begin_ + *due);
      Get(begin_ + *due);
    }
  }

  void Get(TimePoint due) {
    ++offered_;
    ++under_way_;
    map_->Get(keys_[random_.Below(keys_.size())],
              [this, due](ErrorCode ec, const KeyMap::Entry& entry) {
                --under_way_;
                if (ec || !entry.value) {
                  ++failed_;
                } else {
                  ++answered_;
                  latencies_.Record(SteadyNow() - due);
                }
              });
  }

  asio::awaitable<void> Report() {
    TimePoint last = begin_;
    while (last < begin_ + schedule_.length()) {
      co_await Until(last + kSlice);
      std::vector<std::uint64_t> layers, bytes;
      for (const auto& member : members_) {
        const shard::ShardFigures figures = co_await member->Figures();
        layers.push_back(figures.layers);
        bytes.push_back(figures.layer_bytes);
      }
      const TimePoint now = SteadyNow();
      WriteSlice(last, now, layers, bytes);
      last = now;
    }
  }

  // Gets of a key that its member is asked for already join that read, and count with it.
  void Count() {
    const std::vector<MemberStats> stats = map_->Members();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = *members_[i];
      const std::uint64_t reads = member.store->keys_read();
      if (!stats[i].in) throw std::runtime_error("a server has left");  // its counters are gone
      std::uint64_t asked = 0;
      for (const LaneStats& lane : stats[i].engine.lanes)
        asked += lane.fetches - lane.fetches_joined - lane.fetches_local;
      member.answered = reads - member.reads;
      member.queue += static_cast<std::int64_t>(asked - member.asked - member.answered);
      member.asked = asked;
      member.reads = reads;
    }
  }

  using Figures = std::vector<std::uint64_t>;

  void WriteSlice(TimePoint begin, TimePoint end, const Figures& layers, const Figures& bytes) {
    const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
    const auto rate = [&](std::uint64_t count) {
      return std::llround(static_cast<double>(count) / seconds(end - begin));
    };
    Count();
    std::vector<std::int64_t> reads, queues;
    for (const auto& member : members_) {
      reads.push_back(rate(member->answered));
      queues.push_back(member->queue);
    }
    fmt::print(
        R"({{"time_s":{:.3f},"offered_per_s":{},"answered_per_s":{},"failed":{},"p99_us":{},)"
        R"("reads_per_s":[{}],"queue":[{}],"layers":[{}],"layer_bytes":[{}]}})"
        "\n",
        seconds(end - begin_), rate(std::exchange(offered_, 0)), rate(std::exchange(answered_, 0)),
        std::exchange(failed_, 0), std::exchange(latencies_, {}).Quantile(.99) / 1000,
        fmt::join(reads, ","), fmt::join(queues, ","), fmt::join(layers, ","),
        fmt::join(bytes, ","));
    std::fflush(stdout);
  }

  const std::vector<std::string> keys_;
  const shard::Schedule schedule_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<ReplicatedMap> map_;  // ends before its stores
  SplitMix64 random_{1};
  TimePoint begin_{};
  std::uint64_t under_way_ = 0;
  std::uint64_t offered_ = 0, answered_ = 0, failed_ = 0;  // in this slice
  Histogram latencies_;
};

program::ExitCode Run(const Options& options) {
  asio::io_context context(1);
  const auto work = asio::make_work_guard(context);
  Steps steps(options, context);
  steps.Run(context);
  return program::kOk;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  return stout::program::RunCommand(
      "member-steps", [&] { return Parse(argc, argv); }, Run);
}
