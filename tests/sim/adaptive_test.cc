// The promises of the adaptive law, compared with natural batching and fixed intervals in whole
// runs of many servers. bench/ has the figures. The bounds here have room for a working law.

#include "stout/core/policy/adaptive.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "stout/core/policy/basic.h"
#include "stout/sim/simulate.h"
#include "tests/support/catch.h"

namespace stout::sim {
namespace {

using Kind = StoreSpec::Kind;

/// One server, first come first served: 1 ms a batch and 0.1 ms an item, so that perfect batching
/// could carry 10,000 changes a second.
Scenario Shared(std::uint32_t servers, double load) {
  Scenario scenario;
  scenario.store = {.per_batch_us = 1000, .per_item_us = 100, .rtt_us = 500};
  scenario.clients.count = servers;
  scenario.clients.total_rate_per_s = load * 10'000;
  scenario.clients.clock_offset_us = 1000;
  scenario.keys.count = 10'000'000;
  scenario.duration_s = 20;
  scenario.warmup_s = 8;
  return scenario;
}

double Mean(const Scenario& scenario, const Policy& policy) {
  const Result result = Simulate(scenario, policy);
  return result.stable ? result.write_latency_ms.mean : std::numeric_limits<double>::infinity();
}

double BestFixed(const Scenario& scenario, double from_ms, double to_ms) {
  double best = std::numeric_limits<double>::infinity();
  for (double ms = from_ms; ms <= to_ms; ms *= 1.2) {
    const auto interval = Duration(static_cast<Duration::rep>(ms * 1e6));
    best = std::min(best, Mean(scenario, Fixed{interval}));
  }
  return best;
}

}  // namespace

TEST_CASE("adaptive: many servers on one queue come near the best fixed interval") {
  const double load = GENERATE(0.2, 0.5, 0.8);
  const Scenario scenario = Shared(32, load);
  const double adaptive = Mean(scenario, Adaptive());
  CHECK(adaptive < 1.15 * BestFixed(scenario, 25, 250));
  CHECK(adaptive < 0.6 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: one server alone is as fast as with natural batching") {
  const double load = GENERATE(0.05, 0.2, 0.5, 0.8);
  const Scenario scenario = Shared(1, load);
  CHECK(Mean(scenario, Adaptive()) < 1.25 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: at light load nothing waits") {
  const std::uint32_t servers = GENERATE(1, 8, 64);
  const Scenario scenario = Shared(servers, 0.01);
  CHECK(Mean(scenario, Adaptive()) < 1.03 * Mean(scenario, Unbatched{}));
}

TEST_CASE("adaptive: a store that commits in groups is left to natural batching") {
  Scenario scenario = Shared(32, 1);
  scenario.store = {.kind = Kind::kGroupCommit,
                    .per_batch_us = 100,
                    .per_item_us = 50,
                    .sync_us = 5000,
                    .rtt_us = 200};
  scenario.clients.total_rate_per_s = GENERATE(1000, 8000, 14000);
  CHECK(Mean(scenario, Adaptive()) < 1.25 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: a round trip much longer than the service is filled") {
  Scenario scenario = Shared(1, 1);
  scenario.store = {.per_batch_us = 200, .per_item_us = 20, .rtt_us = 5000};
  scenario.clients.total_rate_per_s = 25'000;
  CHECK(Mean(scenario, Adaptive()) < 0.6 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: a few batches that take ten times as long do not stretch all cycles") {
  Scenario scenario = Shared(16, 0.48);
  scenario.store.slow_share = 0.05;
  scenario.store.slow_factor = 10;
  scenario.seed = GENERATE(1, 2, 3);
  CHECK(Mean(scenario, Adaptive()) < Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: 10 ms of jitter cost less than 1.8 times natural batching") {
  Scenario scenario = Shared(16, 0.2);
  scenario.store.jitter_us = 10'000;
  scenario.duration_s = 40;
  scenario.seed = GENERATE(1, 2, 3);
  CHECK(Mean(scenario, Adaptive()) < 1.8 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: speeds three decades apart need no tuning") {
  const double slower = GENERATE(0.04, 1, 40);
  Scenario scenario = Shared(16, 1);
  scenario.store = {
      .per_batch_us = 1000 * slower, .per_item_us = 100 * slower, .rtt_us = 500 * slower};
  scenario.clients.total_rate_per_s = 5000 / slower;
  scenario.duration_s *= slower;
  scenario.warmup_s *= slower;
  CHECK(Mean(scenario, Adaptive()) < 0.65 * Mean(scenario, Natural{}));
}

TEST_CASE("adaptive: servers are treated alike, late joiners included") {
  Scenario scenario = Shared(32, 0.6);
  SECTION("all from the start") {}
  SECTION("half of them join late") {
    scenario.clients.count = 16;
    scenario.steps = {{.at_s = 6, .clients = 32}};
  }
  const Result result = Simulate(scenario, Adaptive());
  CHECK(result.jain_latency > 0.97);
  CHECK(result.jain_throughput > 0.97);
}

TEST_CASE("adaptive: a step of load is followed within a few round trips") {
  Scenario scenario = Shared(32, 0.4);
  scenario.timeline_s = 0.25;
  scenario.steps = {{.at_s = 14, .total_rate_per_s = GENERATE(0.27, 0.6) * 10'000}};
  const Result result = Simulate(scenario, Adaptive());
  double settled = 0;
  int slices = 0;
  for (const Slice& slice : result.timeline) {
    if (slice.at_s < 16) continue;
    settled += slice.write_mean_ms;
    ++slices;
  }
  REQUIRE(slices > 4);
  settled /= slices;
  for (const Slice& slice : result.timeline) {  // 0.5 s are five to ten rounds of all servers
    if (slice.at_s >= 14.5) CHECK(slice.write_mean_ms < 1.4 * settled);
  }
}

TEST_CASE("adaptive: an overloaded store that comes back is found again") {
  Scenario scenario = Shared(16, 0.5);
  scenario.duration_s = 60;
  scenario.warmup_s = 40;
  scenario.steps = {{.at_s = 10, .store_speed = 0.3}, {.at_s = 15, .store_speed = 1}};
  const double calm = Mean(Shared(16, 0.5), Adaptive());
  CHECK(Mean(scenario, Adaptive()) < 1.2 * calm);
}

}  // namespace stout::sim
