// Simulated stores: what queueing theory says of them, and what may happen to them.

#include <cmath>
#include <cstdint>
#include <vector>

#include "stout/core/policy/basic.h"
#include "stout/sim/simulate.h"
#include "tests/sim/simulate_support.h"
#include "tests/support/catch.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Kind = StoreSpec::Kind;
using Arrivals = ClientSpec::Arrivals;

// Pollaczek and Khinchine: the mean wait in an M/G/1 queue with these streams of customers.
struct Stream {
  double rate_per_s;
  double service_ms;
  double noise_sigma;  // lognormal, mean 1: E[S^2] = E[S]^2 exp(sigma^2)
};
double WaitMs(const std::vector<Stream>& streams) {
  double load = 0;
  double residual_ms = 0;
  for (const Stream& s : streams) {
    load += s.rate_per_s * s.service_ms / 1000;
    residual_ms += s.rate_per_s / 1000 * s.service_ms * s.service_ms *
                   std::exp(s.noise_sigma * s.noise_sigma) / 2;
  }
  return residual_ms / (1 - load);
}

// --- Against theory ------------------------------------------------------------------------------

TEST_CASE("without batching a FIFO store is an M/D/1 queue", "[simulate]") {
  const double load = GENERATE(0.2, 0.7, 0.9);
  CAPTURE(load);
  const Result result = Simulate(Plain(load * 1000, 2000), Unbatched{});
  CHECK(result.write_latency_ms.mean == Within(0.03, 1 + WaitMs({{load * 1000, 1, 0}})));
  CHECK(result.store_utilisation == Within(0.01, load));
  CHECK(result.offered_per_s == Within(0.01, load * 1000));
  CHECK(result.completed_per_s == Within(0.001, result.offered_per_s));
  CHECK(result.batch_items == 1);
  CHECK(result.stable);
}

TEST_CASE("noise makes it an M/G/1 queue", "[simulate]") {
  Scenario scenario = Plain(700, 3000);
  scenario.store.noise_sigma = 0.7;
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.store_utilisation == Within(0.01, 0.7));  // the factor's mean is 1
  CHECK(result.write_latency_ms.mean == Within(0.04, 1 + WaitMs({{700, 1, 0.7}})));
}

TEST_CASE("other tenants take their share and make others wait", "[simulate]") {
  Scenario scenario = Plain(300, 2000);
  scenario.store.per_item_us = 50;
  scenario.store.background_load = 0.4;
  const Result result = Simulate(scenario, Unbatched{});
  const double tenant_ms = 1 + 20 * 0.05;
  const double wait_ms = WaitMs({{300, 1.05, 0}, {0.4 / tenant_ms * 1000, tenant_ms, 0}});
  CHECK(result.store_utilisation == Within(0.02, 0.4 + 0.3 * 1.05));
  CHECK(result.write_latency_ms.mean == Within(0.03, 1.05 + wait_ms));
}

TEST_CASE("each partition is a queue of its own", "[simulate]") {
  Scenario scenario = Plain(4 * 700, 500);
  scenario.store.kind = Kind::kPartitioned;
  scenario.store.partitions = 4;
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.write_latency_ms.mean == Within(0.03, 1 + WaitMs({{700, 1, 0}})));
  CHECK(result.store_utilisation == Within(0.01, 0.7));
}

TEST_CASE("workers on one queue wait less than each with its own", "[simulate]") {
  Scenario scenario = Plain(4 * 700, 500);
  scenario.store.kind = Kind::kWorkers;
  scenario.store.workers = 4;
  const Result result = Simulate(scenario, Unbatched{});
  // M/D/c by Cosmetatos (1975): M/M/c's wait (Erlang C 0.429 here), halved, and a correction.
  const double mmc_wait_ms = 0.4287 / (4 * (1 - 0.7));
  const double correction = 1 + (1 - 0.7) * (4 - 1) * (std::sqrt(4 + 5 * 4) - 2) / (16 * 0.7 * 4);
  CHECK(result.write_latency_ms.mean == Within(0.02, 1 + mmc_wait_ms / 2 * correction));
  CHECK(result.store_utilisation == Within(0.01, 0.7));
}

// In a cycle C come n = rate * C changes, and the next cycle takes rtt + a + b * n.
TEST_CASE("natural batching of one client cycles as its store's cost says", "[simulate]") {
  Scenario scenario = Plain(50'000, 60);
  scenario.store.rtt_us = 4000;
  scenario.store.per_item_us = 12;
  const Result result = Simulate(scenario, Natural{});
  const double cycle_ms = (4 + 1) / (1 - 50 * 0.012);
  CHECK(result.interval_ms == Within(0.01, cycle_ms));
  CHECK(result.store_latency_ms == Within(0.01, cycle_ms));
  CHECK(result.batch_items == Within(0.01, 50 * cycle_ms));
  CHECK(result.batches_per_s == Within(0.01, 1000 / cycle_ms));
  // A change waits half a cycle on average, then its batch takes one.
  CHECK(result.write_latency_ms.mean == Within(0.01, 1.5 * cycle_ms));
  CHECK(result.write_latency_ms.p50 == Within(0.01, 1.5 * cycle_ms));
  CHECK(result.write_latency_ms.p90 == Within(0.02, 1.9 * cycle_ms));
  CHECK(result.write_latency_ms.p99 == Within(0.03, 1.99 * cycle_ms));
}

TEST_CASE("a batch at a partitioned store costs what its largest part does", "[simulate]") {
  Scenario scenario = Plain(100'000, 30);
  scenario.store = {.kind = Kind::kPartitioned,
                    .per_batch_us = 2000,
                    .per_item_us = 20,
                    .partitions = 4,
                    .rtt_us = 0};
  scenario.clients.lanes = GENERATE(ClientSpec::Lanes::kOne, ClientSpec::Lanes::kPerPartition);
  const bool per_partition = scenario.clients.lanes == ClientSpec::Lanes::kPerPartition;
  CAPTURE(per_partition);
  const Result result = Simulate(scenario, Natural{});
  const double cycle_ms = 2 / (1 - 25 * 0.02);
  // A fifth more if all wait for the largest of four parts of 100 items, give or take 10.
  if (per_partition) {
    CHECK(result.store_latency_ms == Within(0.01, cycle_ms));
    CHECK(result.batch_items == Within(0.01, 25 * cycle_ms));
  } else {
    CHECK(result.store_latency_ms > 1.02 * cycle_ms);
    CHECK(result.store_latency_ms < 1.2 * cycle_ms);
    CHECK(result.batch_items == Within(0.01, 100 * result.interval_ms));
  }
}

TEST_CASE("batches that wait share one sync of a group commit", "[simulate]") {
  Scenario scenario = Plain(25'000, 60);
  scenario.store = {.kind = Kind::kGroupCommit,
                    .per_batch_us = 10,
                    .per_item_us = 10,
                    .sync_us = 5000,
                    .rtt_us = 0};
  SECTION("a commit is as long as the sync and all that came in the one before") {
    const Result result = Simulate(scenario, Unbatched{});
    const double cycle_ms = 5 / (1 - 25 * 0.02);
    CHECK(result.store_latency_ms == Within(0.02, 1.5 * cycle_ms));
    CHECK(result.store_utilisation == Within(0.001, 1));
    CHECK(result.stable);
  }
  SECTION("the sync takes nothing from the capacity") {
    scenario.clients.count = 100;
    scenario.duration_s = 20;
    scenario.clients.total_rate_per_s = 45'000;
    CHECK(Simulate(scenario, Unbatched{}).stable);
    scenario.clients.total_rate_per_s = 55'000;
    CHECK_FALSE(Simulate(scenario, Unbatched{}, {.max_backlog_s = 1}).stable);
  }
  SECTION("an idle log begins at once") {
    scenario.clients.total_rate_per_s = 1;
    scenario.duration_s = 1000;
    CHECK(Simulate(scenario, Unbatched{}).write_latency_ms.p50 == Within(0.005, 5.02));
  }
}

// Little's law for the callers: each is thinking or waiting.
TEST_CASE("a closed loop obeys N = X (R + Z)", "[simulate]") {
  Scenario scenario = Plain(0, 300);
  scenario.store.rtt_us = 500;
  scenario.clients.count = 5;
  scenario.clients.arrivals = Arrivals::kClosed;
  scenario.clients.outstanding = 4;
  scenario.clients.think_us = GENERATE(0.0, 3000.0, 50000.0);
  scenario.clients.read_fraction = GENERATE(0.0, 0.3);
  const Policy policy = GENERATE(Policy(Unbatched{}), Policy(Natural{}), Policy(Fixed{20ms}));
  CAPTURE(policy.Name(), scenario.clients.think_us, scenario.clients.read_fraction);
  if (scenario.clients.think_us == 0 && scenario.clients.read_fraction > 0) return;  // all reads
  const Result result = Simulate(scenario, policy);
  const double requests_per_s = result.completed_per_s / (1 - scenario.clients.read_fraction);
  const double cycle_s =
      (result.reply_latency_ms.mean + std::max(1e-3, scenario.clients.think_us / 1000)) / 1000;
  CHECK(requests_per_s * cycle_s == Within(0.02, 5 * 4));
  CHECK(result.stable);
}

TEST_CASE("a closed loop without thought keeps a server busy", "[simulate]") {
  Scenario scenario = Plain(0, 20);
  scenario.clients.arrivals = Arrivals::kClosed;
  scenario.clients.outstanding = 3;
  scenario.clients.think_us = 0;
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.completed_per_s == Within(0.001, 1000));
  CHECK(result.store_utilisation == Within(0.001, 1));
  CHECK(result.write_latency_ms.max == Within(0.01, 3));
}

// --- What may happen to a store ------------------------------------------------------------------

TEST_CASE("a pause makes all wait until it ends", "[simulate]") {
  Scenario scenario = Plain(20, 5000);
  scenario.store.pause_every_s = 1;
  scenario.store.pause_ms = 100;
  const Result result = Simulate(scenario, Unbatched{});
  // Paused for 100 of 1100 ms, in which one waits 50 ms on average; those behind it a little more.
  // And one in 1000 is at work when a pause begins.
  const double wait_ms = 100.0 / 1100 * (50 + 1) + 0.001 * 100;
  CHECK(result.write_latency_ms.mean == Within(0.05, 1 + wait_ms));
  CHECK(result.write_latency_ms.max > 100);
  CHECK(result.write_latency_ms.p50 == Within(0.01, 1));
  CHECK(result.store_utilisation == Within(0.03, 0.02));  // standing still is not work
}

TEST_CASE("a step changes the speed of all services", "[simulate]") {
  Scenario scenario = Plain(10, 100);
  const Kind kind = GENERATE(Kind::kFifo, Kind::kWorkers, Kind::kPartitioned, Kind::kGroupCommit,
                             Kind::kSharedProcessors);
  scenario.store.kind = kind;
  scenario.steps = {{.at_s = 50, .store_speed = 0.25}, {.at_s = 75, .store_speed = 2}};
  const Result result = Simulate(scenario, Natural{});
  REQUIRE(result.timeline.size() == 100);
  const auto mean_ms = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += result.timeline[i].write_mean_ms;
    return sum / static_cast<double>(to - from);
  };
  CHECK(mean_ms(0, 49) == Within(0.03, 1));
  CHECK(mean_ms(51, 74) == Within(0.1, 4));
  CHECK(mean_ms(76, 100) == Within(0.03, 0.5));
}

TEST_CASE("what a full queue drops is sent again until it is durable", "[simulate]") {
  Scenario scenario = Plain(900, 60);
  scenario.warmup_s = 0;
  scenario.store.queue_limit = 2;
  scenario.clients.count = 8;
  scenario.steps = {{.at_s = 50, .total_rate_per_s = 0}};
  scenario.store.kind = GENERATE(Kind::kFifo, Kind::kWorkers, Kind::kPartitioned,
                                 Kind::kGroupCommit, Kind::kSharedProcessors);
  scenario.store.partitions = 2;
  scenario.store.sync_us = 1000;
  scenario.store.per_item_us = 300;
  const Result result = Simulate(scenario, Natural{4});
  CHECK(result.drops > 100);
  CHECK(result.retries >= result.drops);
  CHECK(result.pending == 0);
  CHECK(CompletedTotal(result) == Within(1e-9, OfferedTotal(result)));
}

TEST_CASE("an attempt without an answer in time is repeated", "[simulate]") {
  Scenario scenario = Plain(5, 200);
  scenario.clients.attempt_timeout_s = 0.5;
  scenario.store.pause_every_s = 10;
  scenario.store.pause_ms = 1000;
  scenario.steps = {{.at_s = 180, .total_rate_per_s = 0}};
  const Result result = Simulate(scenario, Natural{});
  CHECK(result.retries > 10);
  CHECK(result.drops == 0);
  CHECK(result.pending == 0);
}

TEST_CASE("jitter delays each batch by its mean", "[simulate]") {
  Scenario scenario = Plain(10, 3000);
  scenario.store.rtt_us = 500;
  scenario.store.jitter_us = 3000;
  scenario.store.jitter_reorders = GENERATE(false, true);
  CAPTURE(scenario.store.jitter_reorders);
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.write_latency_ms.mean == Within(0.02, 0.5 + 3 + 1));
  CHECK(result.write_latency_ms.p99 == Within(0.05, 0.5 + 3 * std::log(100) + 1));
}

// In order, a batch arrives with the last of those before it. With Poisson sends at the rate r and
// the jitter m, P(delay <= x) = (1 - u) exp(-r m u) with u = exp(-x / m).
TEST_CASE("jitter keeps the batches of a client in order, unless they may overtake", "[simulate]") {
  Scenario scenario = Plain(1000, 200);
  scenario.store.per_batch_us = 1;
  scenario.store.jitter_us = 100'000;
  SECTION("in order, a batch waits for those before it") {
    const double mean_ms = 100 * (std::log(100) + 0.5772);  // Gumbel
    CHECK(Simulate(scenario, Unbatched{}).write_latency_ms.mean == Within(0.05, mean_ms));
  }
  SECTION("batches that overtake do not wait") {
    scenario.store.jitter_reorders = true;
    CHECK(Simulate(scenario, Unbatched{}).write_latency_ms.mean == Within(0.02, 100));
  }
  SECTION("a batch does not wait for those of other clients") {
    scenario.clients.count = 1000;
    CHECK(Simulate(scenario, Unbatched{}).write_latency_ms.mean == Within(0.02, 105));
  }
}

// Lanes with a common timer send a batch each in one instant.
TEST_CASE("batches that a client sends in one instant share their delay", "[simulate]") {
  Scenario scenario = Plain(100, 2000);
  scenario.store = {.kind = Kind::kPartitioned,
                    .per_batch_us = 1,
                    .per_item_us = 0,
                    .partitions = 8,
                    .rtt_us = 0,
                    .jitter_us = 10'000};
  scenario.clients.lanes = ClientSpec::Lanes::kPerPartition;
  // With a delay each, and in order, the k-th would be late by the largest of k: 21 ms on average.
  CHECK(Simulate(scenario, Constant{{.tick = 1s}}).store_latency_ms == Within(0.1, 10));
}

TEST_CASE("slow services keep the mean of all, and have the variance of two kinds", "[simulate]") {
  Scenario scenario = Plain(500, 4000);
  scenario.store.slow_share = 0.02;
  scenario.store.slow_factor = 20;
  const Result result = Simulate(scenario, Unbatched{});
  const double mean = 1 - 0.02 + 0.02 * 20;
  const double second_moment = (1 - 0.02 + 0.02 * 20 * 20) / (mean * mean);
  CHECK(result.store_utilisation == Within(0.02, 0.5));
  // Pollaczek and Khinchine.
  CHECK(result.write_latency_ms.mean == Within(0.05, 1 + 0.5 * second_moment / (2 * (1 - 0.5))));
}

TEST_CASE("regular pauses begin the same time after one another", "[simulate]") {
  Scenario scenario = Plain(10'000, 100);
  scenario.warmup_s = 0;
  scenario.timeline_s = 0.1;
  scenario.store.per_batch_us = 10;
  scenario.store.pause_every_s = 1.7;
  scenario.store.pause_ms = 300;
  scenario.store.pause_regular = true;
  const Result result = Simulate(scenario, Natural{});
  // Paused in [1.7, 2.0), [3.7, 4.0), ...
  for (std::size_t i = 0; i < result.timeline.size(); ++i) {
    CAPTURE(i);
    CHECK((result.timeline[i].completed_per_s < 100) == (i % 20 >= 17));
  }
}

TEST_CASE("a store with tokens carries what they allow, and drops the rest", "[simulate]") {
  Scenario scenario = Plain(2000, 200);
  scenario.store.per_batch_us = 10;
  scenario.store.tokens_per_s = 900;
  scenario.store.tokens_per_batch = 2;
  scenario.clients.count = 4;
  SECTION("a batch of one item takes three of them") {
    scenario.duration_s = 40;  // the queue grows all the time
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.written_per_s == Within(0.05, 900.0 / 3));
    CHECK(result.drops > 1000);
    CHECK_FALSE(result.stable);
  }
  SECTION("large batches need fewer for an item") {
    scenario.clients.total_rate_per_s = 800;
    const Result result = Simulate(scenario, Fixed{200ms});
    CHECK(result.stable);
    CHECK(result.written_per_s == Within(0.02, 800));
  }
  SECTION("as few batches as there are tokens for pass without a drop") {
    scenario.clients.total_rate_per_s = 100;
    CHECK(Simulate(scenario, Unbatched{}).drops == 0);
  }
  SECTION("a batch that costs more than the bucket holds is not refused for ever") {
    scenario.store.token_burst = 5;
    scenario.clients.total_rate_per_s = 500;
    const Result result = Simulate(scenario, Fixed{1s});
    CHECK(result.batch_items > 50);
    CHECK(result.stable);
  }
}

// Four of 1000 clients send a batch each in one instant, every 1.5 s.
TEST_CASE("clients that share processors with their store wait for one another", "[simulate]") {
  Scenario scenario = Plain(0, 400);
  scenario.clients.count = 1000;
  scenario.clients.arrivals = Arrivals::kRecorded;
  scenario.clients.trace_s = {0.5, 0.5, 0.5, 0.5};  // and again a second later
  scenario.store = {.kind = Kind::kSharedProcessors,
                    .per_batch_us = 1000,
                    .per_item_us = 0.001,
                    .sync_us = 10'000,
                    .client_per_batch_us = 2000,
                    .rtt_us = 0};
  SECTION("one processor: answers at 13, 23, 25, 27 ms") {
    // Services end at 1, 2, 3, 4 ms. A sync takes the first to 11 ms, the next the others to 21 ms.
    // The first's answer is handled until 13 ms, those of the others one after another.
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.write_latency_ms.mean == Within(0.01, (13 + 23 + 25 + 27) / 4.0));
    CHECK(result.write_latency_ms.max == Within(0.01, 27));
    // The sync is no work of a processor.
    CHECK(result.store_utilisation == Within(0.02, 4 * (0.001 + 0.002) / 1.5));
  }
  SECTION("two processors: answers at 13, 23, 23, 25 ms") {
    scenario.store.workers = 2;
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.write_latency_ms.mean == Within(0.01, (13 + 23 + 23 + 25) / 4.0));
  }
  SECTION("without a sync the services come before the answers: at 6, 8, 10, 12 ms") {
    scenario.store.sync_us = 0;
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.write_latency_ms.mean == Within(0.01, (6 + 8 + 10 + 12) / 4.0));
  }
}

// The bottleneck law: the processors are always busy, whatever the sync takes.
TEST_CASE("the work of clients takes from the capacity of shared processors, a sync does not",
          "[simulate]") {
  Scenario scenario = Plain(0, 60);
  scenario.clients.count = 60;
  scenario.clients.arrivals = Arrivals::kClosed;
  scenario.clients.think_us = 0;
  scenario.store = {.kind = Kind::kSharedProcessors,
                    .per_batch_us = 900,
                    .per_item_us = 100,
                    .sync_us = 5000,
                    .client_per_batch_us = 2500,
                    .client_per_item_us = 500,
                    .workers = 2,
                    .rtt_us = 0};
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.completed_per_s == Within(0.01, 2 / 0.004));
  CHECK(result.store_utilisation == Within(0.01, 1));
  CHECK(result.write_latency_ms.mean == Within(0.02, 60 * 4 / 2.0));
}

}  // namespace
}  // namespace stout::sim
