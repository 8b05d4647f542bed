// A simulated run as a whole: nothing is lost, the same seed gives the same run, the timeline.

#include "stout/sim/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "stout/core/policy/adaptive.h"
#include "stout/core/policy/basic.h"
#include "tests/sim/simulate_support.h"
#include "tests/support/catch.h"
#include "world/alias_table.h"
#include "world/latency_histogram.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Kind = StoreSpec::Kind;
using Arrivals = ClientSpec::Arrivals;

// --- Nothing is lost -----------------------------------------------------------------------------

TEST_CASE("what is offered is completed, refused, expired or pending", "[simulate]") {
  Scenario scenario = Rich(6, 20'000);
  scenario.store.kind = GENERATE(Kind::kFifo, Kind::kWorkers, Kind::kPartitioned,
                                 Kind::kGroupCommit, Kind::kSharedProcessors);
  scenario.clients.lanes = GENERATE(ClientSpec::Lanes::kOne, ClientSpec::Lanes::kPerPartition);
  scenario.clients.arrivals =
      GENERATE(Arrivals::kPoisson, Arrivals::kMmpp, Arrivals::kClosed, Arrivals::kOnOff);
  scenario.clients.outstanding = 500;
  scenario.clients.on_ms = 100;
  scenario.clients.off_ms = 900;
  scenario.clients.max_dirty_keys = 400;
  scenario.clients.reply_deadline_s = 0.05;
  scenario.store.queue_limit = 3;
  scenario.store.pause_every_s = 0.5;
  scenario.store.pause_ms = 200;
  scenario.warmup_s = 0;
  CAPTURE(scenario.store.kind, scenario.clients.lanes, scenario.clients.arrivals);
  const Result result = Simulate(scenario, Natural{2});
  const double rest = static_cast<double>(result.refused + result.expired + result.pending);
  CHECK(result.refused > 0);
  CHECK(result.expired > 0);
  CHECK(OfferedTotal(result) == Within(1e-9, CompletedTotal(result) + rest));
}

TEST_CASE("what is refused counts from when it was, however late that is taken in", "[simulate]") {
  Scenario scenario = Plain(1000, 20);
  scenario.warmup_s = 10;
  scenario.clients.max_dirty_keys = 1;  // taken before the warm-up is over, and sent after the end
  const Result result = Simulate(scenario, Fixed{60s});
  CHECK(result.offered_per_s > 900);
  CHECK(static_cast<double>(result.refused) == Within(1e-9, OfferedTotal(result)));
}

TEST_CASE("writes of a key that is written again before it is sent collapse", "[simulate]") {
  Scenario scenario = Plain(10'000, 20);
  scenario.keys.count = 10;
  const Result few = Simulate(scenario, Fixed{50ms});
  CHECK(few.written_per_s == Within(0.02, 10 * 20));
  CHECK(few.completed_per_s == Within(0.01, few.offered_per_s));

  scenario.keys.count = 10'000;
  const Result uniform = Simulate(scenario, Fixed{50ms});
  scenario.keys.zipf = 1;
  const Result zipf = Simulate(scenario, Fixed{50ms});
  // 500 draws of 10,000: 10,000 (1 - exp(-500 / 10,000)) different ones.
  CHECK(uniform.batch_items == Within(0.02, 10'000 * (1 - std::exp(-0.05))));
  CHECK(zipf.batch_items < 0.7 * uniform.batch_items);
  CHECK(zipf.batch_items > 0.3 * uniform.batch_items);
}

TEST_CASE("a read waits only if its key is dirty", "[simulate]") {
  Scenario scenario = Plain(1000, 60);
  scenario.clients.read_fraction = 0.5;
  SECTION("rarely so with many keys") {
    const Result result = Simulate(scenario, Natural{});
    CHECK(result.reply_latency_ms.mean == Within(0.02, result.write_latency_ms.mean / 2));
    CHECK(result.offered_per_s == Within(0.02, 500));
  }
  SECTION("mostly with one") {
    scenario.keys.count = 1;
    scenario.clients.total_rate_per_s = 100'000;
    scenario.duration_s = 5;
    const Result result = Simulate(scenario, Natural{});
    CHECK(result.reply_latency_ms.mean == Within(0.02, result.write_latency_ms.mean));
  }
}

// --- The run -------------------------------------------------------------------------------------

TEST_CASE("a run depends on its seed, and on nothing else", "[simulate]") {
  Scenario scenario = Rich(5, 10'000);
  scenario.store.kind = GENERATE(Kind::kFifo, Kind::kWorkers, Kind::kPartitioned,
                                 Kind::kGroupCommit, Kind::kSharedProcessors);
  scenario.store.queue_limit = 10;
  scenario.clients.arrivals = Arrivals::kMmpp;
  const Result once = Simulate(scenario, Natural{});
  CHECK(Simulate(scenario, Natural{}) == once);
  std::size_t looks = 0;
  const RunLimits watched{.watch = [&](TimePoint) { return ++looks > 0; }};
  CHECK(Simulate(scenario, Natural{}, watched) == once);
  CHECK(looks > 1);
  scenario.seed = 2;
  CHECK(Simulate(scenario, Natural{}).digest != once.digest);
}

// A policy without a clock cannot tell what its clock shows.
TEST_CASE("clients' clocks do not matter to those who do not look at them", "[simulate]") {
  Scenario scenario = Rich(5, 10'000);
  const Result right = Simulate(scenario, Natural{});
  scenario.clients.clock_offset_us = 1e7;
  CHECK(Simulate(scenario, Natural{}) == right);
}

// Clients take their requests in late if that cannot matter. If a batch may be full, they do not:
// with as many keys as a batch has items, each request is an event of its own, although no batch is
// ever full. Both must agree to the nanosecond.
TEST_CASE("requests that are taken in late change nothing", "[simulate]") {
  const std::uint64_t seed = GENERATE(range(0, 80));
  Random random(seed);
  Scenario scenario = Rich(3, 6'000);
  scenario.store.kind =
      random.Pick({Kind::kFifo, Kind::kWorkers, Kind::kPartitioned, Kind::kGroupCommit});
  scenario.clients.lanes = random.Pick({ClientSpec::Lanes::kOne, ClientSpec::Lanes::kPerPartition});
  scenario.clients.arrivals =
      random.Pick({Arrivals::kPoisson, Arrivals::kMmpp, Arrivals::kClosed, Arrivals::kOnOff});
  scenario.clients.outstanding = 100;
  scenario.clients.on_ms = 50;
  scenario.clients.off_ms = 70;
  scenario.store.queue_limit = random.Pick({0, 3});
  scenario.store.jitter_us = random.Pick({0.0, 2000.0});
  scenario.keys.zipf = random.Pick({0.0, 1.2});
  scenario.clients.max_delay_s = random.Pick({0.03, 3600.0});
  scenario.clients.attempt_timeout_s = random.Pick({0.02, 3600.0});
  scenario.clients.reply_deadline_s = random.Pick({0.05, 3600.0});
  scenario.steps = {{.at_s = 1, .total_rate_per_s = 9'000}, {.at_s = 2, .clients = 2}};
  if (scenario.store.kind == Kind::kGroupCommit) {
    // It answers many at once, and of those who then act at the same time no order is right.
    scenario.clients.count = 1;
    scenario.keys.count = 2000;
    scenario.steps = {{.at_s = 1, .total_rate_per_s = 9'000}};
  }
  const Policy policy =
      random.Pick({Policy(Unbatched{}), Policy(Natural{}), Policy(Natural{3}), Policy(Fixed{20ms}),
                   Policy(Constant{{.gap = 9ms}}), Policy(Constant{{.tick = 13ms, .window = 5}}),
                   Policy(Constant{{.interval = 2ms, .window = 2, .max_items = 7}}),
                   Policy(Constant{{.gap = 1ms, .probe = 3}}), Policy(Adaptive{}),
                   Policy(Constant{{.gap = 9ms, .max_items = 7, .full_window = 3}})});
  CAPTURE(seed, policy.Name(), scenario.store.kind, scenario.clients.arrivals);
  scenario.clients.max_batch_items = 2001;
  const Result late = Simulate(scenario, policy);
  scenario.clients.max_batch_items = 2000;
  const Result in_time = Simulate(scenario, policy);
  CHECK(late.digest == in_time.digest);
  CHECK(late == in_time);
  const bool is_empty = std::all_of(late.timeline.begin(), late.timeline.end(),
                                    [](const Slice& slice) { return slice.batches_per_s == 0; });
  CHECK_FALSE(is_empty);
}

TEST_CASE("a full batch goes before its interval is over", "[simulate]") {
  Scenario scenario = Plain(10'000, 10);
  scenario.clients.max_batch_items = 100;
  const Result result = Simulate(scenario, Fixed{1s});
  CHECK(result.batch_items == 100);
  CHECK(result.interval_ms == Within(0.01, 10));
}

TEST_CASE("a store that cannot keep up is called unstable", "[simulate]") {
  CHECK(Simulate(Plain(950, 100), Unbatched{}).stable);
  CHECK_FALSE(Simulate(Plain(1100, 100), Unbatched{}).stable);
  CHECK(Simulate(Plain(1100, 100), Natural{}).stable);
}

TEST_CASE("a hopeless run ends early", "[simulate]") {
  const Scenario scenario = Plain(2000, 100);
  SECTION("by its backlog") {
    const Result result = Simulate(scenario, Unbatched{}, {.max_backlog_s = 5});
    CHECK_FALSE(result.stable);
    CHECK(result.measured_s < 10);  // half of what is offered is left over: 5 s of it after 10 s
    CHECK(result.pending > 10'000);
  }
  SECTION("by its batches") {
    const Result result = Simulate(scenario, Unbatched{}, {.max_batches = 20'000});
    CHECK_FALSE(result.stable);
    CHECK(result.measured_s < 20);
  }
  SECTION("if its watcher says so, although its only client only reads") {
    Scenario reads = Plain(100'000, 100);
    reads.clients.read_fraction = 1;
    int looks = 0;
    const RunLimits limits{.watch = [&](TimePoint) { return ++looks < 2; }};
    (void)Simulate(reads, Natural{}, limits);
    CHECK(looks == 2);
  }
  SECTION("if its watcher says so") {
    const RunLimits limits{.watch = [](TimePoint now) { return now < TimePoint(30s); }};
    CHECK(Simulate(scenario, Unbatched{}, limits).measured_s == Within(0.1, 25));
  }
  SECTION("with all that has arrived by then") {
    Scenario fleet = Plain(10'000, 100);
    fleet.warmup_s = 0;
    fleet.clients.count = 1000;
    const RunLimits limits{.watch = [](TimePoint now) { return now < TimePoint(40s); }};
    const Result result = Simulate(fleet, Fixed{10s}, limits);
    CHECK(OfferedTotal(result) ==
          Within(1e-9, CompletedTotal(result) + static_cast<double>(result.pending)));
    fleet.duration_s = result.measured_s;  // without the arrival at its end
    CHECK(OfferedTotal(result) == Within(1e-5, OfferedTotal(Simulate(fleet, Fixed{10s}))));
  }
  SECTION("but not otherwise") {
    const RunLimits limits{.max_batches = 1'000'000, .max_backlog_s = 50};
    CHECK(Simulate(Plain(900, 100), Unbatched{}, limits) == Simulate(Plain(900, 100), Unbatched{}));
  }
}

TEST_CASE("the timeline adds up", "[simulate]") {
  Scenario scenario = Rich(4, 5000);
  scenario.warmup_s = 0;
  scenario.timeline_s = 0.17;
  const Result result = Simulate(scenario, Natural{});
  REQUIRE(result.timeline.size() == 18);
  double offered = 0;
  double completed = 0;
  double batches = 0;
  for (std::size_t i = 0; i < 18; ++i) {
    const Slice& slice = result.timeline[i];
    const double length_s = i < 17 ? 0.17 : 3 - 17 * 0.17;
    CHECK(slice.at_s == Within(1e-9, 0.17 * static_cast<double>(i)));
    offered += slice.offered_per_s * length_s;
    completed += slice.completed_per_s * length_s;
    batches += slice.batches_per_s * length_s;
  }
  CHECK(offered == Within(1e-9, OfferedTotal(result)));
  CHECK(completed == Within(1e-9, CompletedTotal(result)));
  CHECK(batches == Within(1e-9, result.batches_per_s * result.measured_s));

  scenario.timeline_s = 0;
  CHECK(Simulate(scenario, Natural{}).timeline.size() == 300);
}

TEST_CASE("no slice of the timeline is shorter than a nanosecond", "[simulate]") {
  Scenario scenario = Plain(1e6, 1e-5);
  scenario.timeline_s = 2e-10;
  CHECK(Simulate(scenario, Natural{}).timeline.size() == 10'000);
}

/// Pipelined for one second. Then its regime and reason change with every answer.
struct Reasoning {
  TimePoint first = kNever;
  std::uint64_t answers = 0;
  [[nodiscard]] Decision Start() const {
    return {.regime = Regime::kStarting, .reason = Reason::kUnknownCosts};
  }
  Decision Observe(const BatchSample& sample) {
    first = std::min(first, sample.done);
    if (sample.done < first + 1s) return {.regime = Regime::kPipelined};
    // 4 of 8 are natural, for three reasons. 3 are paced, for one reason, which 4 have.
    switch (answers++ % 8) {
      case 0:
        return {.regime = Regime::kNatural, .reason = Reason::kAlone};
      case 1:
        return {.regime = Regime::kNatural, .reason = Reason::kNoQueue};
      case 2:
      case 3:
        return {.regime = Regime::kNatural, .reason = Reason::kCheapBatch};
      case 4:
        return {.regime = Regime::kStarting, .reason = Reason::kQueue};
      default:
        return {.regime = Regime::kPaced, .reason = Reason::kQueue};
    }
  }
  [[nodiscard]] std::string Name() const { return "reasoning"; }
};

TEST_CASE("the timeline has the most frequent regime and its most frequent reason", "[simulate]") {
  Scenario scenario = Rich(4, 5000);
  scenario.warmup_s = 0;
  scenario.timeline_s = 0.5;
  const Result result = Simulate(scenario, Reasoning{});
  REQUIRE(result.timeline.size() == 6);
  CHECK(result.timeline[0].regime == "pipelined");
  CHECK(result.timeline[0].reason == "none");
  CHECK(result.timeline[4].regime == "natural");
  CHECK(result.timeline[4].reason == "cheap_batch");
  CHECK(Simulate(scenario, Natural{}).timeline[4].regime == "none");
}

TEST_CASE("512 servers share a store", "[simulate]") {
  Scenario scenario = Rich(512, 30'000);
  scenario.store.per_batch_us = 40;
  scenario.store.per_item_us = 4;
  scenario.clients.clock_offset_us = 1000;
  scenario.keys = {.count = 1'000'000, .zipf = 0.9};
  const Result result = Simulate(scenario, Natural{});
  CHECK(result.stable);
  CHECK(result.offered_per_s == Within(0.02, 30'000 * 0.8));
  CHECK(result.completed_per_s == Within(0.01, result.offered_per_s));
  CHECK(result.jain_throughput > 0.99);
}

// --- Parts ---------------------------------------------------------------------------------------

TEST_CASE("an alias table draws each index as often as its weight says", "[simulate]") {
  const std::vector<double> weights = {5, 0, 1, 0.25, 3, 0.75};
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const internal::AliasTable table(weights);
  Random random(7);
  constexpr int kDraws = 1'000'000;
  std::vector<int> drawn(weights.size());
  for (int i = 0; i < kDraws; ++i) ++drawn[table.Draw(random)];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CHECK(drawn[i] == Approx(weights[i] / total * kDraws).epsilon(0.02));
  }
}

TEST_CASE("a latency's quantiles are within half a percent", "[simulate]") {
  internal::LatencyHistogram histogram;
  CHECK(histogram.Quantile(0.5) == 0);
  double sum = 0;
  double ns = 20;
  std::vector<double> values;
  for (; ns < 1e12; ns *= 1.003) {
    values.push_back(std::floor(ns));
    sum += std::floor(ns);
    histogram.Record(Duration(static_cast<std::int64_t>(ns)));
  }
  for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    CHECK(histogram.Quantile(q) == Within(0.005, values[rank - 1]));
  }
  CHECK(histogram.sum() == Within(1e-12, sum));
  CHECK(histogram.Quantile(1) <= histogram.max());
  CHECK(histogram.max() == values.back());

  internal::LatencyHistogram both = histogram;
  both.Merge(histogram);
  CHECK(both.count() == 2 * values.size());
  CHECK(both.Quantile(0.9) == histogram.Quantile(0.9));
  both.Clear();
  CHECK(both.count() == 0);
  both.Record(Duration(5));
  CHECK(both.Quantile(0.5) == 5);
}

}  // namespace
}  // namespace stout::sim
