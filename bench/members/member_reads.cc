// member-reads: clients that get from the members of a range, each time from the one with the
// shortest queue, or from one chosen at random. First it measures each member alone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "members/load.h"
#include "members/open_map.h"
#include "members/read_keys.h"
#include "program/command_line.h"
#include "program/options.h"
#include "stout/clock.h"
#include "stout/core/random.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxClients = 10'000;

struct Options {
  std::vector<std::string> members;
  std::string keys;
  std::vector<std::size_t> clients;
  std::size_t rounds = 5;
  Load load;
};

std::optional<std::vector<std::size_t>> ParseClients(const std::string& text) {
  std::vector<std::size_t> clients;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {  // behind a comma, after the first
    std::size_t count = 0;
    const auto [stop, error] = std::from_chars(at, end, count);
    if (error != std::errc() || count < 1 || count > kMaxClients) return std::nullopt;
    clients.push_back(count);
    if (stop == end) return clients;
    if (*stop != ',') return std::nullopt;
    at = stop;
  }
}

std::variant<Options, program::ExitCode> Parse(int argc, const char* const* argv) {
  CLI::App app(
      "Gets keys from servers with equal data, and prints a line of JSON for each choice of the "
      "member, round and number of clients. First each member is measured alone.",
      "member-reads");
  program::Options options(app);
  Options parsed;
  options
      .Texts("--member", parsed.members, "A server, as the URL of a store; several times", "URL")
      ->required();
  options.Text("--keys", parsed.keys, "A file with the keys, one in each line", "FILE")->required();
  options
      .Read("--clients", "Numbers of clients, each of which waits for its answer", "COUNT,...", "",
            ParseClients,
            fmt::format("a list of whole numbers from 1 to {}, like 1,16,64", kMaxClients),
            [&parsed](std::vector<std::size_t> clients) { parsed.clients = std::move(clients); })
      ->required();
  options.Count("--rounds", parsed.rounds, 1, 100, "Rounds, in which the choices take turns");
  options.Time("--warm-up", parsed.load.warm_up, "Time before each measurement");
  options.Time("--measure", parsed.load.measure, "Measured time");
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  return parsed;
}

// A way to choose the member of each get.
struct Side {
  std::string name;
  std::vector<KeyMap*> maps;  // a get chooses one at random, which asks the shortest queue
};

// To be spawned on the map's strand.
MapTask<void> Get(KeyMap& map, const std::string& key) {
  const auto [ec, entry] = co_await map.AsyncGet(key, kMapAwait);
  if (ec) throw std::runtime_error(ec.message());
  if (!entry.value) throw std::runtime_error(fmt::format("{}: no such key", key));
}

MapTask<void> RunClient(const Load& load, const Side& side, std::span<const std::string> keys,
                        std::uint64_t seed, TimePoint begin, LoadResult& result) {
  SplitMix64 random(seed);
  const TimePoint end = begin + load.warm_up + load.measure;
  for (TimePoint sent = SteadyNow(); sent < end;) {
    KeyMap& map = *side.maps[random.Below(side.maps.size())];
    const std::string& key = keys[random.Below(keys.size())];
    co_await asio::co_spawn(map.get_executor(), Get(map, key),
                            asio::use_awaitable_t<KeyMap::Executor>{});
    const TimePoint now = SteadyNow();
    result.Add(load, begin, sent, now, 1);
    sent = now;
  }
}

// The reads that each member was sent so far, and the batches that carried them.
struct Sent {
  explicit Sent(const Side& side) {
    for (const KeyMap* map : side.maps) {
      for (const MemberStats& member : map->Members()) {
        reads.push_back(0);
        batches.push_back(0);
        for (const LaneStats& lane : member.engine.lanes) {
          reads.back() += lane.reads_sent;
          batches.back() += lane.read_batches_sent;
        }
      }
    }
  }

  std::vector<std::uint64_t> reads;
  std::vector<std::uint64_t> batches;
};

std::vector<std::uint64_t> Since(const std::vector<std::uint64_t>& before,
                                 std::vector<std::uint64_t> now) {
  for (std::size_t i = 0; i < now.size(); ++i) now[i] -= before[i];
  return now;
}

// `strand`: of the clients. No map has it, so that each get of every side changes strands twice.
void Measure(const Options& options, const Side& side, std::size_t round, std::size_t clients,
             std::span<const std::string> keys, asio::io_context& context,
             const KeyMap::Executor& strand) {
  LoadResult result;
  const Sent before(side);
  const TimePoint begin = SteadyNow();
  RunClients(context, strand, clients, [&](std::size_t i) {
    return RunClient(options.load, side, keys, round * kMaxClients + i, begin, result);
  });
  fmt::print(R"({{"choice":"{}","round":{},"clients":{},"rate_per_s":{:.0f},"p50_us":{:.0f},)",
             side.name, round, clients, result.rate_per_s(options.load), result.quantile_us(.5));
  const Sent now(side);  // it has the warm-up, too
  fmt::print("\"p99_us\":{:.0f},\"reads\":[{}],\"batches\":[{}]}}\n", result.quantile_us(.99),
             fmt::join(Since(before.reads, now.reads), ","),
             fmt::join(Since(before.batches, now.batches), ","));
  std::fflush(stdout);
}

program::ExitCode Run(const Options& options) {
  const std::vector<std::string> keys = ReadKeys(options.keys);
  asio::io_context context(1);
  const auto work = asio::make_work_guard(context);
  const KeyMap::Executor strand(context.get_executor());
  const auto open = [&](std::span<const std::string> members) {
    return OpenFilledMap(context, members, {.cache_bytes = 0});
  };
  const OpenMap shared = open(options.members);
  std::vector<OpenMap> alone;
  std::array<Side, 2> sides = {Side{"shortest", {shared.map.get()}}, Side{"random", {}}};
  for (std::size_t i = 0; i < options.members.size(); ++i) {
    alone.push_back(open(std::span(options.members).subspan(i, 1)));
    sides[1].maps.push_back(alone.back().map.get());
  }
  const auto measure = [&](const Side& side, std::size_t round, std::size_t clients) {
    Measure(options, side, round, clients, keys, context, strand);
  };
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const Side member{fmt::format("member {}", i), {alone[i].map.get()}};
    for (const std::size_t clients : options.clients) measure(member, 0, clients);
  }
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (const std::size_t clients : options.clients) {
      for (std::size_t turn = 0; turn < sides.size(); ++turn)
        measure(sides[(round + turn) % sides.size()], round, clients);
    }
  }
  return program::kOk;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  return stout::program::RunCommand(
      "member-reads", [&] { return Parse(argc, argv); }, Run);
}
