// Grids: their points, the runs of each, regrets and tables; and the rates of sweeps.

#include "stout/sim/grid.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "stout/core/policy/basic.h"
#include "stout/sim/regret.h"
#include "stout/sim/scenario_json.h"
#include "stout/sim/sweep.h"
#include "tests/sim/two_points.h"
#include "tests/support/catch.h"
#include "tools/median.h"

namespace stout::sim {
namespace {

namespace json = boost::json;
using Catch::Contains;

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

// The store that takes 100 us an item carries 10,000 changes in a second.
TEST_CASE("loads are changes, whatever share of the requests only reads", "[grid]") {
  const std::string variant = R"({"name": "a"}], "client_counts": [1], "loads_percent": [50],
    "variants": [{"name": "reads", "clients": {"read_fraction": )";
  const Grid grid = ReadGrid(R"({"stores": [)" + variant + "0.75}}]}").value();
  CHECK(Expand(grid).back().scenario.clients.total_rate_per_s == Approx(20'000));
  CHECK_THAT(ReadGrid(R"({"stores": [)" + variant + "1}}]}").error().what,
             Contains("variants[0].clients.read_fraction"));

  Scenario scenario{.duration_s = 2, .warmup_s = 0.5};
  scenario.clients.read_fraction = 0.75;
  const Sweep sweep = RunSweep(scenario, {.policies = {{"natural", Natural{}}},
                                          .rates_per_s = {5000},
                                          .jobs = 1,
                                          .stop = nullptr,
                                          .progress = {}});
  CHECK(sweep.runs.at(0).load_percent == Approx(50));
  CHECK(sweep.runs.at(0).result.offered_per_s == Approx(5000).epsilon(0.05));
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
  grid.variants = {
      {.name = "slow",
       .client_counts = {4},
       .steps = {{.at_share = 0.25, .rate_factor = {}, .clients = {}, .store_speed = 0.5},
                 {.at_share = 0.5, .rate_factor = {}, .clients = 8, .store_speed = {}},
                 {.at_share = 0.75, .rate_factor = 1.5, .clients = {}, .store_speed = {}}}}};
  const Scenario scenario = Expand(grid).back().scenario;
  REQUIRE(scenario.steps.size() == 3);
  CHECK(scenario.steps[0].at_s == Approx(scenario.duration_s / 4).epsilon(1e-4));
  CHECK(scenario.steps[0].store_speed == 0.5);
  CHECK(scenario.steps[1].at_s == Approx(scenario.duration_s / 2).epsilon(1e-4));
  CHECK(scenario.steps[1].clients == 8U);
  CHECK(scenario.steps[2].total_rate_per_s == 1.5 * scenario.clients.total_rate_per_s);
}

TEST_CASE("callers of a closed loop think for as long as the load of their point says", "[grid]") {
  Grid grid = ReadGrid(kTwoPoints).value();
  grid.loads_percent = {50};
  grid.variants = {{.name = "closed",
                    .client_counts = {4},
                    .clients = {.arrivals = ClientSpec::Arrivals::kClosed, .outstanding = 10}}};
  const std::vector<GridPoint> points = Expand(grid);
  const double rate = points.front().scenario.clients.total_rate_per_s;
  CHECK(points.back().scenario.clients.think_us == Approx(4 * 10 * 1e6 / rate));
  CHECK_FALSE(Validate(points.back().scenario));
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
  CHECK(all.jain_points == 3);
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
  const std::string table = RegretTable(results, "p");
  CHECK_THAT(table, Contains("1 point more than 5 % behind the best natural batching"));
  CHECK_THAT(table, !Contains("points without a regret"));

  results.back().policies.erase("p");
  CHECK_THAT(RegretTable(results, "p"), Contains("without a regret, not run or without a stable "
                                                 "interval: 1"));
}

TEST_CASE("a summary without a stable point shows no fairness", "[regret]") {
  const std::vector<PointResults> results = {Point("p", 1, 1, false)};
  CHECK(Summarise(results, "p")[0].jain_points == 0);
  CHECK_THAT(RegretTable(results, "p"), !Contains("100%"));
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

TEST_CASE("a point has no more digits than its file", "[grid]") {
  Grid grid = ReadGrid(kTwoPoints).value();
  grid.stores[0].store.per_item_us = 100.0 / 3;
  for (const GridPoint& point : Expand(grid)) {
    CHECK(ReadScenario(JsonText(ScenarioToJson(point.scenario))).value() == point.scenario);
  }
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
    std::vector<PointResults> begun = TakeOver(points, {}, false);
    for (PointResults& point : begun) point.point.scenario.duration_s = 1e6;  // hours of work
    const std::vector<PointResults> before = begun;
    std::atomic<bool> stop = false;
    const auto at_work = [&](const auto&, double) { stop = true; };
    CHECK_FALSE(RunGrid(
        begun,
        {.policies = {}, .jobs = 1, .without_oracle = true, .progress = at_work, .stop = &stop}));
    CHECK(begun == before);
  }
}

}  // namespace stout::sim
