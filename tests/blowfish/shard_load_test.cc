// The output of shard-load: times, requests, lines.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "shard/lineitem.h"
#include "shard/load/load_settings.h"
#include "shard/load/requests.h"
#include "shard/load/schedule.h"
#include "shard/load/shard_figures.h"
#include "shard/load/tally.h"
#include "shard/load/timeline.h"
#include "shard/number_key.h"
#include "shard/oracle.h"
#include "shard/placed_records.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::bench::shard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t Count(std::string_view text, char of) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), of));
}

TEST_CASE("a phase is a rate, or two, for some time", "[shard-load]") {
  CHECK(ParsePhase("2000:10") == Phase{2000, 2000, seconds(10)});
  CHECK(ParsePhase("2000:10s") == Phase{2000, 2000, seconds(10)});
  CHECK(ParsePhase("0-1.5:0.25") == Phase{0, 1.5, milliseconds(250)});
  for (const char* wrong :
       {"", "2000", "2000:", ":10", "2000:0", "2000:-1", "-1:10", "1-:10", "1-2-3:4", "1e3:10",
        "nan:10", "2000:10m", "1:2000000", "999999999:1"}) {
    CAPTURE(wrong);
    CHECK(ParsePhase(wrong) == std::nullopt);
  }
}

std::vector<Phase> SomePhases(SplitMix64& random) {
  std::vector<Phase> phases(1 + random.Below(4));
  for (Phase& phase : phases) {
    // Some begin or end with nothing.
    const auto rate = [&] { return static_cast<double>(random.Below(3) * random.Below(5000)); };
    phase = {rate(), rate(), milliseconds(1 + random.Below(3000))};
  }
  return phases;
}

/// Integral of the rate, by steps of a ms.
double SumUpTo(const std::vector<Phase>& phases, Duration time) {
  double sum = 0;
  Duration begin{};
  for (const Phase& phase : phases) {
    for (Duration at{}; at < phase.length && begin + at < time; at += milliseconds(1)) {
      const double middle =
          (at + milliseconds(1) / 2.0) / std::chrono::duration<double>(phase.length);
      sum += (phase.from + (phase.to - phase.from) * middle) / 1000;
    }
    begin += phase.length;
  }
  return sum;
}

TEST_CASE("as many requests are due as the rates come to, and each when its turn is",
          "[shard-load]") {
  const auto seed = GENERATE(take(30, random(1u, 1'000'000u)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::vector<Phase> phases = SomePhases(random);
  const Schedule schedule(phases);
  const double total = schedule.CountAt(schedule.length());
  CHECK(total == Approx(SumUpTo(phases, schedule.length())).margin(1e-6));
  CHECK(schedule.TimeOf(total * 1.001 + 1) == std::nullopt);
  for (int i = 0; i < 100; ++i) {
    const Duration time = milliseconds(random.Below(schedule.length() / milliseconds(1)));
    CHECK(schedule.CountAt(time) == Approx(SumUpTo(phases, time)).margin(1e-6));
    const double count = random.Unit() * total;
    const std::optional<Duration> due = schedule.TimeOf(count);
    REQUIRE(due.has_value() == (total > 0));
    if (due) CHECK(schedule.CountAt(*due) == Approx(count).margin(0.01));
  }
}

TEST_CASE("nothing is due in a pause", "[shard-load]") {
  const Schedule schedule({{10, 10, seconds(1)}, {0, 0, seconds(5)}, {10, 10, seconds(1)}});
  CHECK(*schedule.TimeOf(9.9) < seconds(1));
  CHECK(*schedule.TimeOf(10.1) > seconds(6));
}

TEST_CASE("figures of shards are read from INFO", "[shard-load]") {
  constexpr std::string_view kInfo =
      "# Shards\r\n"
      "shard0:keys=5,compressed_records=4,compressed_bytes=99,queue=7,layers=2,layer_bytes=30,"
      "next_layer_bytes=8,filling=0\r\n"
      "shard1:keys=6,queue=18446744073709551615,layers=x\r\n"
      "\r\n# Persistence\r\nshard0_last_failure:no room\r\n";
  const std::vector<ShardFigures> expected = {
      {.keys = 5, .compressed_bytes = 99, .queue = 7, .layers = 2, .layer_bytes = 30},
      {.keys = 6, .queue = 18446744073709551615u}};
  CHECK(ParseShardFigures(kInfo) == expected);
  CHECK(ParseShardFigures("").empty());
  CHECK(ParseShardFigures("# Server\r\nredis_version:7.0.0\r\n").empty());
}

TEST_CASE("a line says what happened in its slice", "[shard-load]") {
  Tally tally{.offered = 30, .unsent = 3, .answered = 2, .failed = 1};
  tally.latency.Record(milliseconds(1));
  tally.latency.Record(milliseconds(3));
  const std::vector<ShardFigures> shards = {{9, 100, 4, 1, 10}, {9, 200, 0, 2, 20}};
  const TimelineRow row{.begin = seconds(1),
                        .end = milliseconds(1500),
                        .tally = tally,
                        .under_way = 24,
                        .shards = shards};
  CHECK(FormatRow(row, 2) == "1.500,60.0,4.0,2,1.016,3,30,2,1,3,24,4,3,30,300,4,1,0,2\n");
}

TEST_CASE("every line has as many fields as the header", "[shard-load]") {
  const auto expected = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{3});
  const auto told = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{3});
  const auto answered = GENERATE(0, 1);
  Tally tally;
  if (answered == 1) tally.latency.Record(seconds(1));
  const std::vector<ShardFigures> shards(told);
  const TimelineRow row{.begin = {}, .end = {}, .tally = tally, .under_way = 0, .shards = shards};
  CHECK(Count(FormatRow(row, expected), ',') == Count(TimelineHeader(expected), ','));
}

/// The arguments of the only command.
std::vector<std::string> Arguments(const resp::Commands& commands) {
  REQUIRE(commands.count() == 1);
  std::vector<std::string> arguments;
  std::string_view bytes = commands.bytes();
  bytes.remove_prefix(bytes.find('$'));
  while (!bytes.empty()) {
    const std::size_t size = std::stoul(std::string(bytes.substr(1)));
    bytes.remove_prefix(bytes.find('\n') + 1);
    arguments.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size + 2);
  }
  return arguments;
}

class RequestsFixture {
 protected:
  RequestsFixture() : records_({.bytes = 64 << 10}), oracle_(records_) {
    for (RecordNumber record = 0; record < oracle_.size(); ++record) {
      records_of_[ServedKey(oracle_.key(record))] = record;
    }
  }

  Lineitem records_;
  const Oracle oracle_;
  std::map<std::string, RecordNumber> records_of_;
};

TEST_CASE_METHOD(RequestsFixture, "a mix asks for keys and values that there are", "[shard-load]") {
  RequestOptions options;
  options.distribution.theta = GENERATE(0.0, 0.99);
  Requests requests(oracle_, options, 2);
  std::size_t gets = 0;
  for (int i = 0; i < 1000; ++i) {
    resp::Commands commands;
    const Requests::Kind kind = requests.Add({}, commands);
    const std::vector<std::string> arguments = Arguments(commands);
    if (kind == Requests::Kind::kGet) {
      ++gets;
      REQUIRE(arguments.size() == 2);
      CHECK(arguments[0] == "GET");
      CHECK(records_of_.contains(arguments[1]));
    } else {
      REQUIRE(arguments.size() == 3);
      CHECK(arguments[0] == "SEARCH");
      const auto attribute = oracle_.schema().Find(arguments[1]);
      REQUIRE(attribute);
      CHECK_FALSE(oracle_.Search(*attribute, arguments[2]).empty());
    }
  }
  CHECK(gets > 400);
  CHECK(gets < 600);
}

TEST_CASE_METHOD(RequestsFixture,
                 "keys of a skewed get are of one shard, the hottest one takes turns",
                 "[shard-load]") {
  constexpr std::size_t kShards = 3;
  constexpr std::size_t kKeys = 4;
  const RequestOptions options{
      .operations = Operations::kGet, .keys = kKeys, .skew = ShardSkew{{.theta = 20}, seconds(10)}};
  Requests requests(oracle_, options, kShards);
  for (int second = 0; second < 60; ++second) {
    resp::Commands commands;
    CHECK(requests.Add(seconds(second), commands) == Requests::Kind::kGet);
    const std::vector<std::string> arguments = Arguments(commands);
    REQUIRE(arguments.size() == 1 + kKeys);
    CHECK(arguments[0] == "MGET");
    for (std::size_t i = 1; i <= kKeys; ++i) {
      CHECK(records_of_.contains(arguments[i]));
      // The second shard comes with a share of 2^-20.
      CHECK(blowfish::ShardOf(arguments[i], kShards) == second / 10 % kShards);
    }
  }
}

TEST_CASE("placed records lie where the value of their attribute has them", "[shard-load]") {
  const Placement placement = ParsePlacement("partkey:5", Lineitem::GetSchema()).value();
  CHECK(placement == Placement{.attribute = 1, .shards = 5});
  Lineitem lineitem({.bytes = 64 << 10});
  PlacedRecords placed(lineitem, placement);
  const Oracle plain(lineitem);
  const Oracle oracle(placed);
  REQUIRE(oracle.size() == plain.size());
  for (RecordNumber record = 0; record < oracle.size(); ++record) {
    CHECK(oracle.value(record) == plain.value(record));
    CHECK(ToNumber(oracle.key(record)).value() / 4096 == ToNumber(plain.key(record)));
  }
  for (const std::string_view value : oracle.Distinct(1)) {
    for (const RecordNumber record : oracle.Search(1, value)) {
      CHECK(blowfish::ShardOf(ServedKey(oracle.key(record)), 5) == blowfish::ShardOf(value, 5));
    }
  }

  // Skewed searches, then, are for what one shard has.
  const RequestOptions options{.operations = Operations::kSearch,
                               .search_class = "partkey",
                               .skew = ShardSkew{{.theta = 20}, seconds(10)}};
  Requests requests(oracle, options, 5);
  for (int second = 0; second < 60; ++second) {
    resp::Commands commands;
    CHECK(requests.Add(seconds(second), commands) == Requests::Kind::kSearch);
    const std::vector<std::string> arguments = Arguments(commands);
    CHECK(blowfish::ShardOf(arguments.at(2), 5) == static_cast<std::size_t>(second / 10 % 5));
  }
}

TEST_CASE("a placement is an attribute, and as many shards as there may be", "[shard-load]") {
  for (const char* wrong :
       {"", "partkey", "partkey:", "partkey:0", "partkey:65", "partkey:3x", "colour:3", ":3"}) {
    CAPTURE(wrong);
    CHECK(ParsePlacement(wrong, Lineitem::GetSchema()) == std::nullopt);
  }
}

TEST_CASE_METHOD(RequestsFixture, "the same seed gives the same requests", "[shard-load]") {
  const auto draw = [&](std::uint64_t seed) {
    Requests requests(oracle_, {.seed = seed}, 1);
    resp::Commands commands;
    for (int i = 0; i < 100; ++i) (void)requests.Add({}, commands);
    return commands.bytes();
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
}

TEST_CASE_METHOD(RequestsFixture, "without a class of searches of that name there are no requests",
                 "[shard-load]") {
  const RequestOptions options{.search_class = "colour"};
  CHECK_THROWS_WITH(Requests(oracle_, options, 1), "no class of searches colour");
}

TEST_CASE("phases follow one another, and options are understood", "[shard-load]") {
  const auto parsed = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "shard-load");
    return ParseLoadSettings(static_cast<int>(arguments.size()), arguments.data());
  };
  const auto settings = std::get<LoadSettings>(
      parsed({"--to", "[::1]:7000", "--phase", "10:1", "--phase", "10-30:2s", "--size", "1MiB",
              "--operations", "get", "--turn", "2s", "--shard-skew", "zipf:2", "--slice", "1s"}));
  CHECK(settings.to == program::Address{"::1", 7000});
  CHECK(settings.phases == std::vector<Phase>{{10, 10, seconds(1)}, {10, 30, seconds(2)}});
  CHECK(settings.data.bytes == 1 << 20);
  CHECK(settings.requests.operations == Operations::kGet);
  REQUIRE(settings.requests.skew);
  CHECK(settings.requests.skew->distribution.theta == 2);
  CHECK(settings.requests.skew->turn == seconds(2));
  CHECK(settings.slice == seconds(1));
}

TEST_CASE("a wrong setting is reported with the name of its option", "[shard-load]") {
  using Wrong = std::pair<std::string, std::vector<const char*>>;
  const auto& [option, arguments] = GENERATE(values<Wrong>({
      {"--phase", {}},
      {"--phase", {"--phase", "fast:10"}},
      {"--closed", {"--closed", "1s", "--phase", "1:1"}},
      {"--closed", {"--closed", "soon"}},
      {"--depth", {"--closed", "1s", "--depth", "1000", "--most-under-way", "10"}},
      {"--to", {"--phase", "1:1", "--to", "here"}},
      {"--operations", {"--phase", "1:1", "--operations", "guess"}},
      {"--class", {"--phase", "1:1", "--class", "colour"}},
      {"--distribution", {"--phase", "1:1", "--distribution", "normal"}},
      {"--shard-skew", {"--phase", "1:1", "--operations", "get", "--shard-skew", "uniform"}},
      {"--shard-skew", {"--phase", "1:1", "--shard-skew", "zipf:1"}},
      {"--shard-skew",
       {"--phase", "1:1", "--shard-skew", "zipf:1", "--operations", "search", "--placed-by",
        "partkey:2", "--class", "suppkey"}},
      {"--placed-by", {"--phase", "1:1", "--placed-by", "colour:3"}},
      {"--turn", {"--phase", "1:1", "--turn", "1s"}},
      {"--slice", {"--phase", "1:1", "--slice", "1us"}},
      {"--slice", {"--phase", "1:1", "--slice", "1h"}},
      {"--keys", {"--phase", "1:1", "--keys", "0"}},
  }));
  std::vector<const char*> all = {"shard-load"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::ostringstream errors;
  std::streambuf* const before = std::cerr.rdbuf(errors.rdbuf());
  const auto parsed = ParseLoadSettings(static_cast<int>(all.size()), all.data());
  std::cerr.rdbuf(before);
  CAPTURE(errors.str());
  CHECK(std::get<ExitCode>(parsed) == kBadOptions);
  CHECK(errors.str().find(option) != std::string::npos);
}

}  // namespace
}  // namespace stout::bench::shard
