// Tools that make many runs: the oracle against queueing theory, grids and their regrets, sweeps,
// plots, and the commands with their exit statuses and messages.

#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stout/core/policy/basic.h"
#include "stout/sim/command_line.h"
#include "stout/sim/grid.h"
#include "stout/sim/oracle.h"
#include "stout/sim/plot.h"
#include "stout/sim/regret.h"
#include "stout/sim/result_json.h"
#include "stout/sim/scenario_json.h"
#include "stout/sim/sweep.h"
#include "tests/support/catch.h"
#include "tests/support/packed.h"
#include "tools/median.h"
#include "tools/parallel.h"
#include "tools/spaced.h"

namespace stout::sim {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Catch::Contains;

/// A directory of its own for a test.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "stout-sim-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The name of a file in it, written if there is a text.
  [[nodiscard]] std::string File(const std::string& name, const std::string& text = "") const {
    const fs::path file = path_ / name;
    if (!text.empty()) std::ofstream(file) << text;
    return file.string();
  }

 private:
  fs::path path_;
};

std::string TextOf(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Output {
  int status = 0;
  std::string out, err;
};

/// Runs the program's commands in this process.
Output Command(std::vector<std::string> words) {
  const auto open = [] {
    return std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::tmpfile(), std::fclose);
  };
  const auto text_of = [](std::FILE* file) {
    std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
    std::rewind(file);
    REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
    return text;
  };
  const auto out = open();
  const auto err = open();
  std::vector<const char*> argv = {"stout-sim"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  Tool tool;
  tool.out = out.get();
  tool.err = err.get();
  const int status = RunCommandLine(static_cast<int>(argv.size()), argv.data(), tool);
  return {status, text_of(out.get()), text_of(err.get())};
}

/// A store that serves an item in 1.1 ms, at 45 % of what it could carry in perfect batches.
constexpr const char* kTiny = R"({
  "duration_s": 2, "warmup_s": 0.5, "clients": {"count": 4, "total_rate_per_s": 4500}
})";

constexpr const char* kTwoPoints = R"({
  "round_trips": 60, "warmup_round_trips": 20, "min_changes": 4000, "min_batches": 0,
  "max_changes": 4000,
  "stores": [{"name": "base"}],
  "client_counts": [4, 16],
  "loads_percent": [45]
})";

PointResults Point(const std::string& name, double best_ms, double policy_ms, bool stable = true) {
  PointResults results;
  results.point.name = name;
  results.point.store = "base";
  results.point.family = "fifo";
  results.point.load_percent = 50;
  results.interval.emplace();
  results.interval->result.completed_per_s = 1;
  results.interval->result.write_latency_ms = {.mean = best_ms, .p99 = 2 * best_ms};
  Result& result = results.policies["p"];
  result.completed_per_s = 1;
  result.stable = stable;
  result.write_latency_ms = {.mean = policy_ms, .p99 = 3 * policy_ms};
  return results;
}

Result WithMean(double ms, bool stable = true) {
  return {.write_latency_ms = {.mean = ms}, .completed_per_s = 1, .stable = stable};
}

}  // namespace

// --- The oracle ----------------------------------------------------------------------------------

TEST_CASE("the best interval of one server is where theory puts it", "[oracle]") {
  // One client in a cycle T: n = 1 + rate T items take a + b n, so T >= (a + b) / (1 - rate b). The
  // noise of n keeps the best T a little above.
  const Scenario scenario{
      .duration_s = 12, .warmup_s = 2, .clients = {.count = 1, .total_rate_per_s = 4500}};
  const double least_ms = 1.1 / (1 - 0.45);
  const Best best = BestFixedInterval(scenario);
  CHECK(best.chosen_ms > 0.8 * least_ms);
  CHECK(best.chosen_ms < 1.6 * least_ms);
  CHECK(best.result.stable);
  CHECK(best.result.measured_s == Approx(10));
  CHECK(best.trials.size() <= 14);
  CHECK(std::abs(std::log(TheoreticalIntervalMs(scenario) / best.chosen_ms)) < std::log(2));

  // No neighbour is better.
  for (const double factor : {0.7, 1.4}) {
    const Duration interval(std::llround(best.chosen_ms * factor * 1e6));
    CHECK(Simulate(scenario, Fixed{interval}).write_latency_ms.mean >
          best.result.write_latency_ms.mean);
  }
}

TEST_CASE("the best interval of many servers follows the square root law", "[oracle]") {
  // At the optimum of M/D/1 the store's utilisation is near 1 - (1-rho) / sqrt(N (1-rho)). Natural
  // batching, whose queue holds a batch of every server, is twice as slow.
  const Scenario scenario{
      .duration_s = 12, .warmup_s = 4, .clients = {.count = 32, .total_rate_per_s = 6000}};
  const Best interval = BestFixedInterval(scenario);
  const double utilisation = 1 - 0.4 / std::sqrt(32 * 0.4);
  CHECK(interval.result.store_utilisation > utilisation - 0.05);
  CHECK(interval.result.stable);
  const double natural = Simulate(scenario, Natural{}).write_latency_ms.mean;
  CHECK(natural > 1.7 * interval.result.write_latency_ms.mean);

  // Servers that pause after each answer come to stand one behind the other: better still.
  const Best gap = BestFixedGap(scenario, interval);
  CHECK(gap.result.stable);
  CHECK(gap.result.write_latency_ms.mean < interval.result.write_latency_ms.mean);
  CHECK(gap.result.policy == Gap{Duration(std::llround(gap.chosen_ms * 1e6))}.Name());
}

TEST_CASE("no neighbour of the best interval is better, however long its queue takes to settle",
          "[oracle]") {
  Scenario scenario;
  scenario.duration_s = 50;
  scenario.warmup_s = 20;
  scenario.store.noise_sigma = 0.7;
  scenario.clients.count = 32;
  scenario.clients.total_rate_per_s = 9200;
  scenario.seed = GENERATE(1, 2, 3);
  const Best best = BestFixedInterval(scenario);
  for (const double factor : {1 / 1.19, 1.19}) {
    const Duration interval(std::llround(best.chosen_ms * 1e6 * factor));
    const Result beside = Simulate(scenario, PolicyOf([&](std::uint32_t client) {
                                     return internal::Spaced(interval, client);
                                   }));
    CHECK((!beside.stable ||
           beside.write_latency_ms.mean > 0.99 * best.result.write_latency_ms.mean));
  }
}

TEST_CASE("an oracle says when no interval is stable", "[oracle]") {
  // More than the store carries in batches of any size.
  const Scenario scenario{
      .duration_s = 1, .warmup_s = 0.2, .clients = {.count = 2, .total_rate_per_s = 13'000}};
  const Best best = BestFixedInterval(scenario);
  CHECK_FALSE(best.result.stable);
  const json::object object = BestToJson(best);
  CHECK(BestToJson(BestFromJson(object).value()) == object);
}

// --- Grids ---------------------------------------------------------------------------------------

TEST_CASE("a grid is every store with every number of clients at every load", "[grid]") {
  const Grid grid = ReadGrid(R"({
    "stores": [{"name": "a"},
               {"name": "b", "family": "fast", "store": {"kind": "workers", "workers": 4}}],
    "client_counts": [1, 8], "loads_percent": [10, 50, 97.5],
    "variants": [{"name": "few", "stores": ["b"], "client_counts": [2], "keys": {"count": 100}}]
  })")
                        .value();
  const std::vector<GridPoint> points = Expand(grid);
  REQUIRE(points.size() == 2 * 2 * 3 + 3);
  CHECK(points[2].name == "a/N1/97.5%");
  CHECK(points[2].family == "fifo");
  const GridPoint& last = points.back();
  CHECK(last.name == "b/few/N2/97.5%");
  CHECK(last.family == "fast");
  CHECK(last.scenario.keys.count == 100);
  CHECK(last.scenario.clients.count == 2);
  // Four workers that take 100 us an item carry 40,000 items in a second.
  CHECK(last.scenario.clients.total_rate_per_s == Approx(0.975 * 40'000));
  for (const GridPoint& point : points) {
    CHECK_FALSE(Validate(point.scenario));
    CHECK(ReadScenario(JsonText(ScenarioToJson(point.scenario))).value() == point.scenario);
  }
}

TEST_CASE("a point is as long as its round trips, within bounds", "[grid]") {
  Grid grid = ReadGrid(kTwoPoints).value();
  grid.min_changes = 1;
  grid.max_changes = 1'000'000;
  const GridPoint whole = Expand(grid)[1];
  CHECK(whole.round_trips == Approx(60));
  CHECK_FALSE(whole.cut);
  CHECK(whole.scenario.duration_s == Approx(60 * whole.round_trip_ms / 1e3).epsilon(1e-4));
  CHECK(whole.scenario.warmup_s == Approx(whole.scenario.duration_s / 3).epsilon(1e-4));

  grid.max_changes = 4000;
  const GridPoint cut = Expand(grid)[1];
  CHECK(cut.cut);
  CHECK(cut.scenario.duration_s == Approx(4000 / 4500.0).epsilon(1e-4));
  grid.max_changes = 1;
  CHECK(Expand(grid)[1].round_trips == Approx(grid.min_round_trips));

  grid.max_changes = 10'000'000;
  grid.min_changes = 90'000;
  CHECK(Expand(grid)[1].scenario.duration_s == Approx(20).epsilon(1e-4));
  grid.min_batches = 16 * 1000;
  CHECK(Expand(grid)[1].round_trips == Approx(1000).epsilon(1e-4));
}

TEST_CASE("a variant's steps come at shares of a point's duration", "[grid]") {
  Grid grid = ReadGrid(kTwoPoints).value();
  grid.variants = {{.name = "slow",
                    .client_counts = {4},
                    .steps = {{.at_share = 0.25, .clients = {}, .store_speed = 0.5},
                              {.at_share = 0.5, .clients = 8, .store_speed = {}}}}};
  const Scenario scenario = Expand(grid).back().scenario;
  REQUIRE(scenario.steps.size() == 2);
  CHECK(scenario.steps[0].at_s == Approx(scenario.duration_s / 4).epsilon(1e-4));
  CHECK(scenario.steps[0].store_speed == 0.5);
  CHECK(scenario.steps[1].at_s == Approx(scenario.duration_s / 2).epsilon(1e-4));
  CHECK(scenario.steps[1].clients == 8U);
}

TEST_CASE("the fleet's round trip is the time to serve each server once", "[grid]") {
  // 32 batches of 1 ms in the half of the time that 100 us an item leave at 5000 items a second.
  CHECK(FleetRoundTrip({}, 32, 5000) == Approx(32 * 1e-3 / 0.5));
  // Servers that have no batch to send in that time do not queue: an idle store's latency.
  CHECK(FleetRoundTrip({}, 512, 100) == Approx(1.6e-3));
  CHECK(FleetRoundTrip({.background_load = 0.5}, 32, 2500) == Approx(32 * 1e-3 / 0.25));
  CHECK(FleetRoundTrip({.kind = StoreSpec::Kind::kGroupCommit, .sync_us = 8000}, 32, 5000) ==
        Approx(40 * 1e-3 / 0.5));
  CHECK(FleetRoundTrip({.kind = StoreSpec::Kind::kWorkers, .workers = 4}, 32, 20'000) ==
        Approx(8 * 1e-3 / 0.5));
  // Work of clients is work of the processors; the sync is not, but a batch waits for it.
  CHECK(FleetRoundTrip({.kind = StoreSpec::Kind::kSharedProcessors,
                        .sync_us = 8000,
                        .client_per_batch_us = 1000,
                        .client_per_item_us = 100,
                        .workers = 2},
                       32, 5000) == Approx(32 * 2e-3 / 2 / 0.5 + 8e-3));
  // 32 batches of 10 tokens, of which half are left for them.
  CHECK(FleetRoundTrip({.tokens_per_s = 4000, .tokens_per_batch = 10}, 32, 2000) ==
        Approx(32 * 10 / 2000.0));
  // One server's batch may take longer than the workers need to be filled.
  CHECK(FleetRoundTrip({.kind = StoreSpec::Kind::kWorkers, .workers = 100}, 1, 900'000) >
        900'000 * 1e-4 * 1e-4);
}

TEST_CASE("regrets count what is unstable, and summarise by group", "[regret]") {
  std::vector<PointResults> results = {Point("a", 10, 10), Point("b", 10, 12), Point("c", 10, 20),
                                       Point("d", 10, 11, false)};
  results[2].point.family = "group_commit";
  results[1].policies["natural"] = WithMean(16);
  results[1].policies["natural:4"] = WithMean(8);
  results[1].policies["natural:8"] = WithMean(2, false);  // no reference: it does not last
  results[3].point.scenario.clients.spread = 30;
  results[0].policies["p"].jain_throughput = 0.9;
  CHECK(RegretOf(results[1], "p") == Approx(1.2));
  CHECK(RegretOf(results[3], "p") == Approx(kUnstableRegret));
  CHECK_FALSE(RegretOf(results[0], "q"));
  CHECK(RatioToNatural(results[1], "p") == Approx(1.5));
  CHECK_FALSE(RatioToNatural(results[0], "p"));

  const std::vector<RegretRow> rows = Summarise(results, "p");
  REQUIRE(rows.size() == 1 + 2 + 1 + 1 + 1 + 1);
  const RegretRow& all = rows[0];
  CHECK(all.group == "all");
  CHECK(all.points == 4);
  CHECK(all.unstable == 1);
  CHECK(all.geometric_mean == Approx(std::pow(1 * 1.2 * 2 * 10, 0.25)));
  CHECK(all.median == Approx(1.2));
  CHECK(all.max == Approx(10));
  CHECK(all.worst_point == "d");
  CHECK(all.share_within_25_percent == Approx(0.5));
  CHECK(all.p99_ratio == Approx(1.5 * std::cbrt(1 * 1.2 * 2)));
  CHECK(all.worst_vs_natural == Approx(1.5));
  CHECK(all.geometric_mean_vs_natural == Approx(1.5));
  CHECK(all.p95_vs_natural == Approx(1.5));
  CHECK(all.share_jain_97_percent == Approx(2.0 / 3));  // not a, and d's clients are not equal
  CHECK(all.jain_throughput_min == Approx(0.9));
  CHECK(all.jain_throughput_median == Approx(1));
  CHECK(rows[2].name == "group_commit");
  CHECK(rows[2].geometric_mean == Approx(2));

  const std::string table = RegretTable(results, "p");
  CHECK_THAT(table, Contains("2 points with a regret above 1.25"));
  CHECK_THAT(table, Contains("1 point more than 5 % behind the best natural batching"));

  // If no interval is stable, no policy can be.
  results[1].interval->result.stable = false;
  CHECK_FALSE(RegretOf(results[1], "p"));
  CHECK_THAT(RegretTable(results, "p"), Contains("without a stable interval: 1"));
}

TEST_CASE("without best intervals, a summary compares with natural batching", "[regret]") {
  std::vector<PointResults> results;
  for (const double ms : {6.0, 8.0, 8.0, 27.0}) {
    results.push_back(Point("p", 1, ms));
    results.back().interval.reset();
    results.back().policies["natural:2"] = WithMean(8);
  }
  results[3].policies["p"].jain_latency = 0.96;
  results.push_back(Point("q", 1, 1, false));  // without any reference
  results.back().interval.reset();
  const RegretRow all = Summarise(results, "p")[0];
  CHECK(all.points == 5);
  CHECK(all.unstable == 1);
  CHECK(all.geometric_mean == 0);
  CHECK(all.geometric_mean_vs_natural == Approx(std::pow(0.75 * 27.0 / 8, 0.25)));
  CHECK(all.p95_vs_natural == Approx(27.0 / 8));
  CHECK(all.worst_vs_natural == Approx(27.0 / 8));
  CHECK(all.share_jain_97_percent == Approx(0.75));
  CHECK_THAT(RegretTable(results, "p"),
             Contains("1 point more than 5 % behind the best natural batching"));
}

TEST_CASE("the median of some runs is unstable if most of them are", "[grid]") {
  using internal::MedianOf;
  CHECK(MedianOf<Result>({WithMean(5), WithMean(1), WithMean(3)}).write_latency_ms.mean == 3);
  CHECK(MedianOf<Result>({WithMean(1, false), WithMean(5), WithMean(3)}).write_latency_ms.mean ==
        5);
  CHECK_FALSE(MedianOf<Result>({WithMean(1, false), WithMean(5), WithMean(2, false)}).stable);
  CHECK(MedianOf<Result>({WithMean(7)}).write_latency_ms.mean == 7);
}

TEST_CASE("a point of a grid with several seeds has the median of their runs", "[grid]") {
  Grid grid = ReadGrid(kTwoPoints).value();
  grid.seed = 7;
  grid.seeds = 3;
  grid.client_counts = {4};
  std::vector<PointResults> results = TakeOver(Expand(grid), {}, false);
  REQUIRE(results.size() == 1);
  REQUIRE(RunGrid(results, {.without_oracle = true}));
  CHECK_FALSE(results[0].interval);

  std::vector<Result> runs;
  Scenario scenario = results[0].point.scenario;
  for (const std::uint64_t seed : {7, 8, 9}) {
    scenario.seed = seed;
    runs.push_back(Simulate(scenario, Natural{}));
  }
  const Result median = internal::MedianOf(runs);
  CHECK(results[0].policies.at("natural").digest == median.digest);
  CHECK(results[0].policies.at("natural").seed == median.seed);

  // Runs of another number of seeds do not hold.
  grid.seeds = 1;
  CHECK(TakeOver(Expand(grid), results, true)[0].policies.empty());
  CHECK(GridFileToJson({.points = results}).at("points").at(0).at("seeds") == 3);
}

TEST_CASE("a grid runs each point once, and its file comes back", "[grid]") {
  const std::vector<GridPoint> points = Expand(ReadGrid(kTwoPoints).value());
  std::vector<PointResults> results = TakeOver(points, {}, false);
  double share = 0;
  const GridRunOptions options{.policies = {{"fixed:30ms", Fixed{std::chrono::milliseconds(30)}}},
                               .jobs = 2,
                               .progress = [&](const auto&, double done) { share = done; }};
  REQUIRE(RunGrid(results, options));
  CHECK(share == Approx(1));
  REQUIRE(results.size() == 2);
  for (const PointResults& point : results) {
    CHECK(point.policies.size() == 1 + NaturalPolicies().size());
    REQUIRE(RegretOf(point, "fixed:30ms"));
    CHECK(*RegretOf(point, "fixed:30ms") > 0.9);
    CHECK(point.policies.at("natural").digest == Simulate(point.point.scenario, Natural{}).digest);
  }
  const GridFile file{.grid = "two", .policies = {"fixed:30ms"}, .points = results};
  const json::object object = GridFileToJson(file);
  CHECK(object.at("summary").at("fixed:30ms").at(0).at("points") == 2);
  // Numbers are cut to twelve digits on the way, once.
  const GridFile read = ReadGridFile(JsonText(object)).value();
  CHECK(read.points[1].point == points[1]);
  CHECK(read.points[1].policies.at("natural").digest == results[1].policies.at("natural").digest);
  CHECK(GridFileToJson(read) == object);

  SECTION("a later run takes over what still holds") {
    CHECK(TakeOver(points, results, true) == results);
    std::vector<PointResults> baseline = TakeOver(points, results, false);
    CHECK(baseline[0].interval == results[0].interval);
    CHECK(baseline[0].policies.contains("natural:8"));
    CHECK_FALSE(baseline[0].policies.contains("fixed:30ms"));
    REQUIRE(RunGrid(baseline, options));
    CHECK(baseline == results);

    std::vector<GridPoint> changed = points;
    changed[0].scenario.seed = 2;
    const std::vector<PointResults> taken = TakeOver(changed, results, true);
    CHECK_FALSE(taken[0].interval);
    CHECK(taken[0].policies.empty());
    CHECK(taken[1] == results[1]);
  }
  SECTION("a stopped run keeps nothing half done") {
    const std::atomic<bool> stop{true};
    std::vector<PointResults> none = TakeOver(points, {}, false);
    CHECK_FALSE(RunGrid(none, {.policies = {}, .jobs = 1, .progress = {}, .stop = &stop}));
    CHECK(none == TakeOver(points, {}, false));
  }
}

// --- Sweeps and plots ----------------------------------------------------------------------------

TEST_CASE("a sweep has a run for each policy and rate, in order", "[sweep]") {
  const Scenario scenario = ReadScenario(kTiny).value();
  const Sweep sweep =
      RunSweep(scenario, {.policies = {{"natural", Natural{}}, {"unbatched", Unbatched{}}},
                          .rates_per_s = {500, 4500},
                          .jobs = 2,
                          .stop = nullptr,
                          .progress = {}});
  REQUIRE(sweep.runs.size() == 4);
  CHECK(sweep.runs[1].result.policy == "natural");
  CHECK(sweep.runs[1].rate_per_s == 4500);
  CHECK(sweep.runs[1].load_percent == Approx(45));
  CHECK(sweep.runs[1].result.stable);
  CHECK(sweep.runs[2].result.policy == "unbatched");
  CHECK(sweep.runs[2].result.stable);
  CHECK_FALSE(sweep.runs[3].result.stable);  // 4500 x 1.1 ms are more than a second
  const json::object object = SweepToJson(sweep);
  CHECK(SweepToJson(ReadSweep(JsonText(object)).value()) == object);

  const std::string script = SweepScript(sweep, "out file's.svg");
  CHECK_THAT(script, Contains("set output 'out file''s.svg'"));
  CHECK_THAT(script, Contains("title 'unbatched' noenhanced"));
}

TEST_CASE("gnuplot draws what the scripts say", "[plot]") {
  const Scratch scratch;
  const std::string out = scratch.File("plot.svg");
  Result result = Simulate(ReadScenario(kTiny).value(), Natural{});
  REQUIRE_FALSE(result.timeline.empty());
  RunGnuplot(TimelineScript({result, result}, out));
  CHECK_THAT(TextOf(out), Contains("<svg") && Contains("natural") && Contains("Write latency"));

  result.timeline.clear();
  CHECK_THROWS_WITH(TimelineScript({result}, out), Contains("no result has a timeline"));
  CHECK_THROWS_AS(RunGnuplot("this is no command\n"), PlotError);
}

// --- Commands ------------------------------------------------------------------------------------

TEST_CASE("run prints a table, or a result that reads back", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output table = Command({"run", scenario});
  CHECK(table.status == kOk);
  CHECK_THAT(table.out, Contains("tiny, policy natural, seed 1") && Contains("write latency"));
  CHECK(table.err.empty());

  const std::vector<std::string> words = {"run",    scenario, "--policy", "fixed:20ms",
                                          "--seed", "9",      "--json"};
  const Output first = Command(words);
  const Result result = ResultFromJson(ParseJson(first.out).value()).value();
  CHECK(result.scenario == "tiny");
  CHECK(result.policy == "fixed:20ms");
  CHECK(result.seed == 9);
  CHECK(result.write_latency_ms.mean > 0);
  CHECK(Command(words).out == first.out);
}

/// 1,000 changes in 10 ms, of one key or of 1,000.
std::string TenMilliseconds(bool one_key) {
  std::string csv = "time,key,bytes\n";
  for (int i = 0; i < 1000; ++i) {
    csv += fmt::format("{:.6f},doc/{},100\n", i / 1e5, one_key ? 0 : i);
  }
  return csv;
}

TEST_CASE("run replays a recording, and changes of one key are written together", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File(
      "once.json", R"({"warmup_s": 0, "clients": {"count": 4}, "keys": {"count": 1}})");
  const std::string one_key = scratch.File("one.csv", TenMilliseconds(true));
  const std::string many_keys = scratch.File("many.csv", TenMilliseconds(false));
  const std::string policy = GENERATE("natural", "adaptive", "unbatched");
  CAPTURE(policy);
  const auto run = [&](const std::string& trace) {
    return Command({"run", scenario, "--policy", policy, "--trace", trace, "--json"});
  };
  const Result one = ResultFromJson(ParseJson(run(one_key).out).value()).value();
  CHECK(one.measured_s == Approx(0.01));
  CHECK(one.offered_per_s * one.measured_s == Approx(1000));
  // At most one batch is under way for a key. It takes 1.6 ms.
  CHECK(one.written_per_s * one.measured_s < 8);
  const Result many = ResultFromJson(ParseJson(run(many_keys).out).value()).value();
  CHECK(many.batches_per_s * many.measured_s * many.batch_items > 100);
  const std::string packed = scratch.File("many.csv.gz", test::Gzip(TenMilliseconds(false)));
  CHECK(run(packed).out == run(many_keys).out);
}

TEST_CASE("what is wrong with a recording is told with its name and line", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const auto error = [&](const std::string& trace) {
    const Output output = Command({"run", scenario, "--trace", trace});
    CHECK(output.status == kFailed);
    return output.err;
  };
  CHECK(error("nothing.csv") == "stout-sim: cannot read nothing.csv: No such file or directory\n");
  CHECK_THAT(error(fs::temp_directory_path().string()), Contains("it is a directory"));
  const std::string wrong = scratch.File("wrong.csv", "time,key,bytes\n0,a,1\nx,a,1\n");
  CHECK_THAT(error(wrong), Contains(wrong + ": line 3: the time is \"x\""));
}

TEST_CASE("what is wrong with a file is told with its name", "[command]") {
  const Scratch scratch;
  const Output missing = Command({"run", "nothing.json"});
  CHECK(missing.status == kFailed);
  CHECK(missing.err == "stout-sim: cannot read nothing.json: No such file or directory\n");

  const std::string broken = scratch.File("broken.json", "{\n  \"seed\": 1,,\n}");
  const Output syntax = Command({"run", broken});
  CHECK(syntax.status == kFailed);
  CHECK(syntax.err == "stout-sim: " + broken + ": line 2, column 13 of the JSON: syntax error\n");

  const std::string unknown = scratch.File("unknown.json", R"({"stor": {}})");
  CHECK_THAT(Command({"oracle", unknown}).err,
             Contains(unknown + ": \"stor\" is unknown; did you mean \"store\"?"));
  CHECK(Command({"grid", unknown}).status == kFailed);

  const std::string policy = scratch.File("policy.json", R"({"policy": "adaptve"})");
  const Output of_file = Command({"run", policy});
  CHECK(of_file.status == kFailed);
  CHECK_THAT(of_file.err, Contains(policy + ": \"policy\":") && Contains("natural"));

  const Output directory = Command({"run", fs::temp_directory_path().string()});
  CHECK(directory.status == kFailed);
  CHECK_THAT(directory.err, Contains("it is a directory"));
}

TEST_CASE("a wrong command line is told with what there is", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output policy = Command({"run", scenario, "--policy", "adaptve"});
  CHECK(policy.status == kBadOptions);
  CHECK_THAT(policy.err, Contains("--policy") && Contains("adaptve") && Contains("natural"));
  CHECK(Command({}).status == kBadOptions);
  CHECK(Command({"walk"}).status == kBadOptions);
  CHECK(Command({"run"}).status == kBadOptions);
  CHECK(Command({"run", scenario, "--jsno"}).status == kBadOptions);
  CHECK(Command({"sweep", scenario, "--policy", "natural"}).status == kBadOptions);
  CHECK(Command({"schema", "sonnet"}).status == kBadOptions);
  const Output seed = Command({"run", scenario, "--seed", "-1"});
  CHECK(seed.status == kBadOptions);
  CHECK_THAT(seed.err, Contains("--seed") && Contains("-1"));
  for (const char* const rate : {"nan", "inf", "0", "-1", "1e30"}) {
    CAPTURE(rate);
    const Output rates = Command({"sweep", scenario, "--policy", "natural", "--rates", rate});
    CHECK(rates.status == kBadOptions);
    CHECK_THAT(rates.err, Contains("--rates"));
    const Output loads = Command({"sweep", scenario, "--policy", "natural", "--loads", rate});
    CHECK(loads.status == kBadOptions);
  }

  const Output help = Command({"--help"});
  CHECK(help.status == kOk);
  for (const char* const command : {"run", "oracle", "sweep", "grid", "plot", "schema"}) {
    CHECK_THAT(help.out, Contains(command));
  }
}

TEST_CASE("oracle prints both best settings as whole results", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output output = Command({"oracle", scenario, "--json"});
  REQUIRE(output.status == kOk);
  const json::value value = ParseJson(output.out).value();
  const Best interval = BestFromJson(value.at("best_interval")).value();
  CHECK(interval.chosen_ms > 0);
  CHECK(interval.result.policy == Fixed{Duration(std::llround(interval.chosen_ms * 1e6))}.Name());
  CHECK(BestFromJson(value.at("best_gap")).value().result.write_latency_ms.p99 > 0);
  CHECK_THAT(Command({"oracle", scenario}).out, Contains("interval") && Contains("gap"));
}

TEST_CASE("grid keeps its results, resumes, and is plotted", "[command]") {
  const Scratch scratch;
  const std::string grid = scratch.File("two.json", kTwoPoints);
  const std::string out = scratch.File("out.json");
  const Output run = Command({"grid", grid, "--policy", "natural", "--json", out, "--jobs", "2"});
  CHECK(run.status == kOk);
  CHECK_THAT(run.out, Contains("natural") && Contains("family fifo"));
  CHECK_THAT(run.out, Contains("1 of 2 points are shorter than 60 round trips"));
  const std::string first = TextOf(out);
  CHECK(ReadGridFile(first).value().grid == "two");

  CHECK(Command({"grid", grid, "--policy", "natural", "--json", out, "--resume"}).status == kOk);
  CHECK(TextOf(out) == first);
  CHECK(Command({"grid", grid, "--policy", "gap:10ms", "--baseline", out, "--only", "N4"}).status ==
        kOk);

  const Output quick = Command({"grid", grid, "--policy", "natural", "--without-oracle"});
  CHECK(quick.status == kOk);
  CHECK_THAT(quick.out, Contains("family fifo") && !Contains("best interval"));

  CHECK_THAT(Command({"grid", grid, "--list"}).out, Contains("base/N16/45%"));
  const Output scenario = Command({"grid", grid, "--print-scenario", "base/N4/45%"});
  CHECK(ReadScenario(scenario.out).value() == Expand(ReadGrid(kTwoPoints).value())[0].scenario);
  const Output typo = Command({"grid", grid, "--print-scenario", "base/N44/45%"});
  CHECK(typo.status == kBadOptions);
  CHECK_THAT(typo.err, Contains("did you mean \"base/N4/45%\"?"));
  CHECK(Command({"grid", grid, "--only", "nowhere"}).status == kBadOptions);
  CHECK(Command({"grid", grid, "--resume"}).status == kBadOptions);

  const std::string svg = scratch.File("regret.svg");
  CHECK(Command({"plot", "grid", out, "--out", svg}).status == kOk);
  CHECK_THAT(TextOf(svg), Contains("<svg"));
  const Output wrong = Command({"plot", "sweep", out, "--out", svg});
  CHECK(wrong.status == kFailed);
  CHECK_THAT(wrong.err, Contains("stout-sim sweep --json"));
}

TEST_CASE("a sweep of rates needs clients that have one", "[command]") {
  const Scratch scratch;
  const std::string closed = scratch.File("c.json", R"({"clients": {"arrivals": "closed"}})");
  const Output output = Command({"sweep", closed, "--policy", "natural", "--rates", "100,200"});
  CHECK(output.status == kFailed);
  CHECK_THAT(output.err, Contains(closed) && Contains("\"clients.arrivals\" is \"closed\""));
}

TEST_CASE("output that cannot be written is told", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> err(std::tmpfile(), std::fclose);
  const std::vector<const char*> plain = {"stout-sim", "run", scenario.c_str()};
  const std::vector<const char*> as_json = {"stout-sim", "run", scenario.c_str(), "--json"};
  for (const auto& words : {plain, as_json}) {  // short and buffered, and long
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"),
                                                               std::fclose);
    Tool tool;
    tool.out = full.get();
    tool.err = err.get();
    CHECK(RunCommandLine(static_cast<int>(words.size()), words.data(), tool) == kFailed);
  }
  CHECK(std::ftell(err.get()) > 0);
}

TEST_CASE("a file of results replaces files, and nothing else", "[command]") {
  const Scratch scratch;
  const std::string grid = scratch.File("two.json", kTwoPoints);
  const std::string pipe = scratch.File("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::fstream both(pipe, std::ios::in | std::ios::out);  // otherwise opening it would wait
  REQUIRE(both);
  CHECK(Command({"grid", grid, "--only", "N4", "--json", pipe}).status == kOk);
  CHECK(fs::is_fifo(pipe));
  CHECK_FALSE(fs::exists(pipe + ".tmp"));

  const std::string taken = scratch.File("taken");
  fs::create_directories(taken + "/by");
  CHECK(Command({"grid", grid, "--only", "N4", "--json", taken}).status == kFailed);
  CHECK_FALSE(fs::exists(taken + ".tmp"));
}

TEST_CASE("a failure while jobs run ends them", "[parallel]") {
  std::atomic<int> begun{0};
  const auto job = [&](std::size_t) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const auto fail = [] { throw std::runtime_error("the disk is full"); };
  CHECK_THROWS_AS(internal::RunJobs(1000, 2, job, fail), std::runtime_error);
  CHECK(begun < 200);
}

TEST_CASE("names with line ends do not end a line of the script", "[plot]") {
  Result result;
  result.policy = "natural'\nset output '/dev/null";
  result.timeline = {{.at_s = 0, .completed_per_s = 1, .write_mean_ms = 1, .write_p99_ms = 1}};
  CHECK_THAT(TimelineScript({result}, "x.svg"), !Contains("\nset output '/dev/null"));
}

TEST_CASE("without gnuplot, plot says what to install", "[command]") {
  const Scratch scratch;
  const std::string result =
      scratch.File("r.json", Command({"run", scratch.File("t.json", kTiny), "--json"}).out);
  const std::string path = std::getenv("PATH");
  setenv("PATH", scratch.File("").c_str(), 1);
  const Output output = Command({"plot", "timeline", result, "--out", scratch.File("t.svg")});
  setenv("PATH", path.c_str(), 1);
  CHECK(output.status == kFailed);
  CHECK_THAT(output.err, Contains("gnuplot-nox"));
}

}  // namespace stout::sim
