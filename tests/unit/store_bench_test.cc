// The results of store-bench from its trials: the search, the pool of plain clients, and short
// trials.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "stores/compare_options.h"
#include "stores/comparison.h"
#include "stores/contender.h"
#include "stores/rate_search.h"
#include "stores/trials.h"
#include "stores/writer.h"
#include "stores/writer_pool.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"

namespace stout::bench {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a search comes within its resolution of what is too much", "[store-bench]") {
  const double limit = GENERATE(3.0, 499.0, 501.0, 12345.0, 400'000.0);
  CAPTURE(limit);
  RateSearch search({.first = 500});
  int trials = 0;
  while (const std::optional<double> rate = search.Next()) {
    search.Learn(*rate <= limit);
    ++trials;
  }
  CHECK(search.found() <= limit);
  CHECK(search.found() * 1.05 >= limit);
  CHECK_FALSE(search.at_least());
  CHECK(trials < 25);
}

TEST_CASE("a rate that fails once is not too much", "[store-bench]") {
  RateSearch search({.first = 100, .step = 2});
  search.Learn(false);
  CHECK(search.Next() == 100);
  search.Learn(true);
  CHECK(search.Next() == 200);
  search.Learn(false);
  search.Learn(false);
  CHECK(search.found() == 100);
  CHECK_FALSE(search.coarse());
  REQUIRE(search.Next());
  CHECK(*search.Next() == Approx(std::sqrt(100 * 200)));
}

TEST_CASE("a search ends where it is told to", "[store-bench]") {
  RateSearch all({.first = 500, .highest = 4000, .step = 2});
  while (all.Next()) all.Learn(true);
  CHECK(all.found() == 4000);
  CHECK(all.at_least());
  RateSearch none({.first = 500, .lowest = 100});
  while (none.Next()) none.Learn(false);
  CHECK(none.found() == 0);
}

TEST_CASE("a plain client is read as it is written", "[store-bench]") {
  for (const char* const name : {"pool:1", "pool:64", "pipelined:4"}) {
    CAPTURE(name);
    REQUIRE(ParseWriter(name));
    CHECK(ParseWriter(name)->Name() == name);
  }
  for (const char* const name : {"", "pool", "pool:", "pool:0", "pool:x", "pool:4x", "pool:1001"}) {
    CAPTURE(name);
    CHECK_FALSE(ParseWriter(name));
  }
}

/// Answers when it is told to.
class ManualConnection final : public PooledConnection {
 public:
  void Send(KeyView key, std::string_view, Writer::Done done) {
    keys.emplace_back(key);
    Sent(std::move(done));
  }
  void Answer() { Answered(); }

  std::vector<std::string> keys;  // that were sent
};

/// A pool of two manual connections, and what became of the writes.
struct ManualPool {
  explicit ManualPool(std::size_t window) {
    std::vector<std::unique_ptr<ManualConnection>> connections;
    for (ManualConnection*& each : {std::ref(first), std::ref(second)}) {
      connections.push_back(std::make_unique<ManualConnection>());
      each = connections.back().get();
    }
    pool = std::make_unique<WriterPool<ManualConnection>>(context, std::move(connections), window);
  }
  void Write(KeyView key) {
    pool->Write(key, "value", [this](ErrorCode ec) { (ec ? closed : done) += 1; });
  }

  boost::asio::io_context context;
  ManualConnection* first = nullptr;
  ManualConnection* second = nullptr;
  std::unique_ptr<WriterPool<ManualConnection>> pool;
  int done = 0, closed = 0;
};

TEST_CASE("a pool writes through the connection that has least to do", "[store-bench]") {
  ManualPool pool(2);
  for (const char* const key : {"a", "b", "c", "d"}) pool.Write(key);
  CHECK(pool.first->keys == std::vector<std::string>{"a", "c"});
  CHECK(pool.second->keys == std::vector<std::string>{"b", "d"});
  CHECK(pool.done == 0);
  pool.second->Answer();
  CHECK(pool.done == 1);
  pool.Write("e");
  CHECK(pool.second->keys.back() == "e");
}

TEST_CASE("what finds no room in the pool's window waits for an answer", "[store-bench]") {
  ManualPool pool(1);
  for (const char* const key : {"a", "b", "c", "d"}) pool.Write(key);
  CHECK(pool.first->keys.size() + pool.second->keys.size() == 2);
  pool.second->Answer();
  CHECK(pool.second->keys == std::vector<std::string>{"b", "c"});
  pool.first->Answer();
  CHECK(pool.first->keys == std::vector<std::string>{"a", "d"});
  CHECK(pool.done == 2);
}

TEST_CASE("a cancelled pool closes each write once, and waits for its answers", "[store-bench]") {
  ManualPool pool(1);
  for (const char* const key : {"a", "b", "c"}) pool.Write(key);
  pool.pool->Cancel();
  CHECK(pool.closed == 0);  // not inside the call
  pool.context.run();
  CHECK(pool.closed == 3);
  CHECK_FALSE(pool.pool->Idle());
  pool.first->Answer();
  pool.second->Answer();
  CHECK(pool.pool->Idle());
  CHECK(pool.done == 0);
  CHECK(pool.first->keys.size() == 1);  // "c" was never sent
}

TEST_CASE("the best plain client is that which sustains most", "[store-bench]") {
  Comparison comparison;
  CHECK(comparison.BestPlain() == nullptr);
  comparison.entries = {{.name = "pool:1", .plain = true, .sustained = AtRate{100, {}}},
                        {.name = "pool:4", .plain = true, .sustained = AtRate{300, {}}},
                        {.name = "pool:9", .plain = true},
                        {.name = "natural", .sustained = AtRate{9000, {}}}};
  REQUIRE(comparison.BestPlain() != nullptr);
  CHECK(comparison.BestPlain()->name == "pool:4");
}

TEST_CASE("the best plain client is confirmed when a better one was lucky", "[store-bench]") {
  Comparison comparison;
  comparison.entries = {{.name = "lucky", .plain = true, .sustained = AtRate{10'000, {}}},
                        {.name = "next", .plain = true, .sustained = AtRate{7'900, {}}},
                        {.name = "slow", .plain = true, .sustained = AtRate{1'000, {}}},
                        {.name = "natural", .sustained = AtRate{500, {}}}};
  const std::vector<double> sustained = {6'500, 6'000, 0, 500};
  std::vector<std::vector<std::size_t>> repeated;
  Confirm(comparison, 0.25, [&](const std::vector<std::size_t>& who) {
    repeated.push_back(who);
    std::vector<std::optional<AtRate>> medians;
    for (const std::size_t i : who) {
      const double rate = comparison.entries[i].sustained->rate;
      medians.push_back(rate <= sustained[i] ? std::optional(AtRate{rate, {}}) : std::nullopt);
    }
    return medians;
  });
  // 10,000 / 1.25 is too much, and then 8,000 / 1.25^2 is not.
  CHECK(comparison.entries[0].sustained->rate == 5'120);
  CHECK(comparison.entries[1].sustained->rate == Approx(4'044.8));
  CHECK(comparison.BestPlain()->name == "lucky");
  CHECK(repeated == std::vector<std::vector<std::size_t>>{{0, 3}, {0}, {0}, {1}, {1}, {1}});
}

std::variant<StoreBenchCommand, ExitCode> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "store-bench");
  return ParseStoreBench(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("store-bench refuses what it cannot run", "[store-bench]") {
  CHECK(std::get<ExitCode>(Parse({})) == kBadOptions);
  CHECK(std::get<ExitCode>(Parse({"--store", "memory:", "--writers", "threads:4"})) == kBadOptions);
  CHECK(std::get<ExitCode>(Parse({"--store", "memory:", "--policies", "best"})) == kBadOptions);
  CHECK(std::get<ExitCode>(Parse({"--store", "no name=memory:"})) == kBadOptions);
  const auto command = std::get<StoreBenchCommand>(
      Parse({"--store", "m=memory:", "--writers", "none", "--policies", "natural", "stout"}));
  CHECK(command.compare.writers.empty());
  CHECK(command.compare.policies.size() == 2);
  CHECK(command.compare.stores[0].name == "m");
}

TEST_CASE("a hopeless trial ends early, as not sustained", "[store-bench]") {
  const std::atomic<bool> interrupted = false;
  const auto contender = MakeStout("memory:?per_item=1h", Natural{}, {.count = 100});
  const auto start = std::chrono::steady_clock::now();
  const Trial trial =
      RunTrial(*contender, 100, 5000, {.warmup = 1h, .measure = 1h}, 1ms, 1, interrupted);
  CHECK(trial.result.overrun);
  CHECK_FALSE(trial.result.Sustained(1h));
  CHECK(std::chrono::steady_clock::now() - start < 1min);
}

/// All that matters, in a moment.
CompareOptions Small(const std::string& url) {
  CompareOptions options;
  options.stores = {{"store", url}};
  options.policies = {Natural{}};
  options.documents = {20};
  options.max_p99 = 60s;
  options.search = {.first = 50, .highest = 200, .step = 2};
  options.coarse = options.fine = {.warmup = 5ms, .measure = 100ms};
  options.repetitions = 1;
  options.light_load_s = 0;
  return options;
}

TEST_CASE("a comparison finds rates, and compares at one of them", "[store-bench]") {
  const std::atomic<bool> interrupted = false;
  std::vector<double> rates;
  const std::vector<Comparison> comparisons = Compare(
      Small("memory:?latency=100us"),
      [&](const Comparison&, const std::string&, double rate) { rates.push_back(rate); },
      interrupted);
  REQUIRE(comparisons.size() == 1);
  const Entry& natural = comparisons[0].entries.at(0);
  REQUIRE(natural.sustained);
  CHECK(natural.sustained->rate == 200);
  CHECK(natural.sustained->median.result.mean_ms >= 0.1);
  CHECK(natural.at_least);
  CHECK_FALSE(natural.compared);  // there is no plain client to compare with
  CHECK(rates == std::vector<double>{50, 100, 200, 200});
}

TEST_CASE("at a given rate nothing is searched for", "[store-bench]") {
  const std::atomic<bool> interrupted = false;
  CompareOptions options = Small("memory:");
  options.rate = 100;
  options.variants = {{"slow", "memory:?latency=1ms"}};
  const std::vector<Comparison> comparisons = Compare(
      options, [](const Comparison&, const std::string&, double) {}, interrupted);
  const std::vector<Entry>& entries = comparisons.at(0).entries;
  REQUIRE(entries.size() == 2);
  CHECK(entries[1].name == "natural slow");
  REQUIRE(entries[1].compared);
  CHECK(entries[1].compared->rate == 100);
  CHECK(entries[1].compared->median.result.mean_ms >= 1);
  CHECK_FALSE(entries[1].sustained);
}

TEST_CASE("light load is one change of each contender a second", "[store-bench]") {
  const std::atomic<bool> interrupted = false;
  CompareOptions options = Small("memory:?latency=2ms");
  options.rate = 100;
  options.light_load_s = 1;
  const std::vector<Comparison> comparisons = Compare(
      options, [](const Comparison&, const std::string&, double) {}, interrupted);
  const Entry& natural = comparisons.at(0).entries.at(0);
  REQUIRE(natural.light);
  CHECK(natural.light->changes == 1);
  CHECK(natural.light->mean_ms >= 2);
  CHECK(natural.light->mean_ms == natural.light->max_ms);
}

TEST_CASE("an interrupted comparison ends, with what it has", "[store-bench]") {
  const std::atomic<bool> interrupted = true;
  CHECK(Compare(
            Small("memory:"), [](const Comparison&, const std::string&, double) {}, interrupted)
            .empty());
}

TEST_CASE("a store without a plain client is refused", "[store-bench]") {
  CHECK_THROWS_AS(MakePlain("memory:", WriterSpec{}, {}), std::runtime_error);
}

}  // namespace
}  // namespace stout::bench
