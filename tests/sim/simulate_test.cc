// Simulated runs against what queueing theory says of them, and against each other.

#include "stout/sim/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "world/alias_table.h"
#include "world/latency_histogram.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Kind = StoreSpec::Kind;
using Arrivals = ClientSpec::Arrivals;

/// One client, one server that takes a millisecond for a batch of any size, no network.
Scenario Plain(double rate_per_s, double duration_s) {
  Scenario scenario;
  scenario.duration_s = duration_s;
  scenario.warmup_s = duration_s / 20;
  scenario.store = {.per_batch_us = 1000, .per_item_us = 0, .rtt_us = 0};
  scenario.clients.total_rate_per_s = rate_per_s;
  scenario.keys.count = 1'000'000;
  return scenario;
}

/// Clients that gather batches at a store with everything that a store may have.
Scenario Rich(std::uint32_t clients, double rate_per_s) {
  Scenario scenario;
  scenario.duration_s = 3;
  scenario.warmup_s = 0.5;
  scenario.store = {.per_batch_us = 300,
                    .per_item_us = 20,
                    .sync_us = 500,
                    .client_per_batch_us = 300,
                    .client_per_item_us = 60,
                    .workers = 3,
                    .partitions = 4,
                    .rtt_us = 400,
                    .noise_sigma = 0.5,
                    .background_load = 0.2};
  scenario.clients.count = clients;
  scenario.clients.total_rate_per_s = rate_per_s;
  scenario.clients.read_fraction = 0.2;
  scenario.keys.count = 2000 * clients;
  return scenario;
}

/// Always decides the same.
struct Constant {
  Decision decision;

  [[nodiscard]] Decision Start() const { return decision; }
  Decision Observe(const BatchSample&) { return decision; }
  [[nodiscard]] std::string Name() const { return "constant"; }
};

Approx Within(double share, double value) { return Approx(value).epsilon(share); }

double OfferedTotal(const Result& result) { return result.offered_per_s * result.measured_s; }
double CompletedTotal(const Result& result) { return result.completed_per_s * result.measured_s; }

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

// --- Against theory
// --------------------------------------------------------------------------------

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

// --- What may happen to a store
// --------------------------------------------------------------------

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

// --- Nothing is lost
// -------------------------------------------------------------------------------

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

// --- Load
// ------------------------------------------------------------------------------------------

TEST_CASE("bursts keep the mean rate", "[simulate]") {
  Scenario scenario = Plain(1000, 500);
  scenario.clients.count = 4;
  scenario.clients.arrivals = Arrivals::kMmpp;
  scenario.clients.burst_factor = 5;
  scenario.clients.burst_share = 0.1;
  scenario.clients.burst_ms = 2000;
  scenario.timeline_s = 0.5;
  scenario.store.per_batch_us = 10;
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(result.offered_per_s == Within(0.15, 1000));
  std::size_t in_burst = 0;
  for (const Slice& slice : result.timeline) {
    in_burst += static_cast<std::size_t>(slice.offered_per_s > 4000);
  }
  const double share = static_cast<double>(in_burst) / static_cast<double>(result.timeline.size());
  CHECK(share > 0.04);
  CHECK(share < 0.14);
}

TEST_CASE("recorded arrivals are repeated, each at one client", "[simulate]") {
  Scenario scenario = Plain(0, 55);
  scenario.warmup_s = 0;
  scenario.clients.count = 3;
  scenario.clients.arrivals = Arrivals::kRecorded;
  scenario.clients.trace_s = {0.1, 0.2, 0.4};
  scenario.steps = {{.at_s = 11, .clients = 1}, {.at_s = 22, .clients = 3}};
  const Result result = Simulate(scenario, Unbatched{});
  CHECK(OfferedTotal(result) == Within(1e-9, 300));  // the period is 0.4 s and the mean gap
  CHECK(CompletedTotal(result) == Within(1e-9, 300));
}

TEST_CASE("a recorded arrival at the time of a step is taken once", "[simulate]") {
  Scenario scenario = Plain(0, 60);
  scenario.warmup_s = 0;
  scenario.clients.count = 3;
  scenario.clients.arrivals = Arrivals::kRecorded;
  scenario.clients.trace_s = {0, 0.2, 0.4};  // one each 0.2 s, for ever
  scenario.steps = {{.at_s = 12, .clients = 1}, {.at_s = 24, .clients = 9}};
  for (int i = 0; i < 20; ++i) {
    scenario.steps.push_back({.at_s = 30.0 + i, .clients = 8 + i % 2});
  }
  CHECK(OfferedTotal(Simulate(scenario, Unbatched{})) == Within(1e-9, 300));
}

/// `count` changes in 10 ms, of keys `step` apart.
std::shared_ptr<Recording> TenMilliseconds(std::size_t count, std::uint64_t first_key,
                                           std::uint64_t step) {
  auto recording = std::make_shared<Recording>();
  for (std::size_t i = 0; i < count; ++i) {
    recording->changes.push_back({.at = Duration(10ms) * i / count, .key = first_key + i * step});
  }
  return recording;
}

/// A run of a recording, a second long.
Scenario Replay(std::shared_ptr<const Recording> recording, std::uint32_t clients) {
  Scenario scenario = Plain(0, 1);
  scenario.warmup_s = 0;
  scenario.clients.count = clients;
  scenario.clients.arrivals = Arrivals::kRecorded;
  scenario.clients.recording = std::move(recording);
  return scenario;
}

TEST_CASE("recorded changes of one key are written together", "[simulate]") {
  const auto recording = TenMilliseconds(1000, 7, 0);
  recording->changes.push_back({.at = 3s});  // after the end: no repetition
  const Result one_key = Simulate(Replay(recording, 4), Natural{});
  CHECK(CompletedTotal(one_key) == 1000);
  CHECK(one_key.written_per_s <= 11);  // a batch takes 1 ms
  for (RecordedChange& change : recording->changes) change.key += change.at.count();
  const Result many_keys = Simulate(Replay(recording, 4), Natural{});
  CHECK(CompletedTotal(many_keys) == 1000);
  CHECK(many_keys.written_per_s == 1000);
}

TEST_CASE("a recorded change is not a read, whatever the scenario says", "[simulate]") {
  Scenario scenario = Replay(TenMilliseconds(1000, 0, 1), 1);
  scenario.duration_s = 0.01;
  scenario.clients.read_fraction = 1;
  CHECK(OfferedTotal(Simulate(scenario, Natural{})) == Approx(1000));
}

/// Batches without waiting, and counts the answers.
struct Counting {
  std::shared_ptr<int> answers;

  [[nodiscard]] Decision Start() const { return Natural{}.Start(); }
  Decision Observe(const BatchSample&) {
    ++*answers;
    return Start();
  }
  [[nodiscard]] std::string Name() const { return "counting"; }
};

TEST_CASE("a recorded key belongs to one client, also after other clients came", "[simulate]") {
  std::vector<std::shared_ptr<int>> answers;
  const PolicyOf policy_of = [&](std::uint32_t client) -> Policy {
    answers.resize(std::max<std::size_t>(answers.size(), client + 1));
    if (!answers[client]) answers[client] = std::make_shared<int>();
    return Counting{answers[client]};
  };
  Scenario scenario = Replay(TenMilliseconds(1000, 5, 12), 3);
  (void)Simulate(scenario, policy_of);
  REQUIRE(answers.size() == 3);
  CHECK(*answers[0] == 0);
  CHECK(*answers[1] == 0);
  CHECK(*answers[2] > 0);  // 5 and 5 + 12 i, modulo 3
  // From 5 ms on there are four.
  answers.clear();
  scenario.steps = {{.at_s = 0.005, .clients = 4}};
  (void)Simulate(scenario, policy_of);
  REQUIRE(answers.size() == 4);
  CHECK(*answers[0] == 0);
  CHECK(*answers[1] > 0);
  CHECK(*answers[2] > 0);
  CHECK(*answers[3] == 0);
}

TEST_CASE("a recording is repeated after the mean gap behind its last change", "[simulate]") {
  CHECK(TenMilliseconds(10, 0, 1)->Length() == 10ms);
  CHECK(TenMilliseconds(1, 0, 1)->Length() == 1s);
  CHECK(OfferedTotal(Simulate(Replay(TenMilliseconds(10, 0, 1), 3), Unbatched{})) == Approx(1000));
}

TEST_CASE("a full batch of recorded keys is sent at once", "[simulate]") {
  const auto recording = TenMilliseconds(1000, 0, 1);
  recording->changes.push_back({.at = 3s});
  Scenario scenario = Replay(recording, 1);
  scenario.keys.count = 1;
  scenario.clients.max_batch_items = 200;
  const Result result = Simulate(scenario, Fixed{500ms});
  CHECK(CompletedTotal(result) == 1000);
  CHECK(result.write_latency_ms.p50 < 10);
}

TEST_CASE("unequal loads are as far apart as they should be", "[simulate]") {
  Scenario scenario = Plain(3000, 20);
  scenario.store.per_batch_us = 1;
  scenario.clients.count = 2;
  scenario.clients.spread = 30;
  const Result result = Simulate(scenario, Unbatched{});
  // Two numbers in the proportion 30 to 1.
  CHECK(result.jain_batches == Within(0.005, 31.0 * 31 / (2 * (900 + 1))));
  CHECK(result.jain_throughput > 0.999);
  CHECK(result.offered_per_s == Within(0.02, 3000));
}

TEST_CASE("a heavy client has its share of the load", "[simulate]") {
  Scenario scenario = Plain(3000, 50);
  scenario.store.per_batch_us = 1;
  scenario.clients.count = 11;
  scenario.clients.heavy_share = 0.5;
  const Result result = Simulate(scenario, Unbatched{});
  // One with 10 parts of 20, ten with one each.
  CHECK(result.jain_batches == Within(0.01, 20.0 * 20 / (11 * (100 + 10))));
  CHECK(result.offered_per_s == Within(0.02, 3000));
  scenario.clients.count = 1;
  CHECK(Simulate(scenario, Unbatched{}).offered_per_s == Within(0.02, 3000));
}

// A client is on for a third of the time, at three times its mean rate. The others are on at times
// of their own.
TEST_CASE("clients turn on and off by themselves, and keep the mean rate", "[simulate]") {
  Scenario scenario = Plain(300, 6000);
  scenario.store.per_batch_us = 1;
  scenario.clients.arrivals = Arrivals::kOnOff;
  scenario.clients.on_ms = 2000;
  scenario.clients.off_ms = 4000;
  scenario.timeline_s = 0.2;
  const auto share_beyond = [](const Result& result, double per_s) {
    const auto beyond =
        std::count_if(result.timeline.begin(), result.timeline.end(),
                      [&](const Slice& slice) { return slice.offered_per_s > per_s; });
    return static_cast<double>(beyond) / static_cast<double>(result.timeline.size());
  };
  SECTION("one client") {
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.offered_per_s == Within(0.1, 300));
    CHECK(share_beyond(result, 0) == Within(0.15, 1.0 / 3 + 0.2 / 6));  // and slices that are cut
    CHECK(share_beyond(result, 450) == Within(0.15, 1.0 / 3));
  }
  SECTION("of three, all are off for eight of 27 parts of the time") {
    scenario.clients.count = 3;
    const Result result = Simulate(scenario, Unbatched{});
    CHECK(result.offered_per_s == Within(0.1, 300));
    CHECK(1 - share_beyond(result, 100) == Within(0.2, 8.0 / 27));
  }
  SECTION("a step changes the rate of those that are on") {
    scenario.steps = {{.at_s = 3000, .total_rate_per_s = 900}};
    CHECK(Simulate(scenario, Unbatched{}).offered_per_s ==
          Within(0.1, (2700 * 300.0 + 3000 * 900) / 5700));
  }
}

TEST_CASE("clients start one after another, and those present share the load", "[simulate]") {
  Scenario scenario = Plain(20'000, 40);
  scenario.warmup_s = 0;
  scenario.timeline_s = 1;
  scenario.store.per_batch_us = 1;
  scenario.clients.count = 100;
  scenario.clients.start_spread_s = 20;
  const Result result = Simulate(scenario, Fixed{100ms});
  // Each present client sends ten batches a second.
  for (const std::size_t second : {5, 10, 15, 25, 35}) {
    CAPTURE(second);
    const double present = std::min(100.0, 100 * (static_cast<double>(second) + 0.5) / 20);
    CHECK(result.timeline[second].batches_per_s == Approx(10 * present).margin(130));
    CHECK(result.timeline[second].offered_per_s == Within(0.05, 20'000));
  }
  CHECK(result.timeline[0].batches_per_s < 150);
}

TEST_CASE("a step changes the rate of all", "[simulate]") {
  Scenario scenario = Plain(1000, 30);
  scenario.clients.count = 5;
  scenario.steps = {{.at_s = 10, .total_rate_per_s = 0}, {.at_s = 20, .total_rate_per_s = 3000}};
  const Result result = Simulate(scenario, Natural{});
  REQUIRE(result.timeline.size() == 30);
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    first += result.timeline[i].offered_per_s / 10;
    CHECK(result.timeline[i + 10].offered_per_s == 0);
    last += result.timeline[i + 20].offered_per_s / 10;
  }
  CHECK(first == Within(0.05, 1000));
  CHECK(last == Within(0.05, 3000));
}

TEST_CASE("one who leaves drains; one who joins takes its share", "[simulate]") {
  Scenario scenario = Plain(1000, 40);
  scenario.store.per_item_us = 100;
  scenario.clients.count = 4;
  scenario.steps = {
      {.at_s = 10, .clients = 1}, {.at_s = 20, .clients = 6}, {.at_s = 39, .total_rate_per_s = 0}};
  SECTION("nothing is lost") {
    scenario.warmup_s = 0;
    const Result result = Simulate(scenario, Natural{});
    CHECK(result.pending == 0);
    CHECK(CompletedTotal(result) == Within(1e-9, OfferedTotal(result)));
    CHECK(OfferedTotal(result) == Within(0.02, 1000 * 39));
    CHECK(result.jain_throughput == 1);
    // One sends a batch every 1.1 ms or so, one of six more seldom.
    CHECK(result.timeline[15].interval_ms < 0.4 * result.timeline[30].interval_ms);
  }
  SECTION("all are alike once they are there") {
    scenario.warmup_s = 20;
    CHECK(Simulate(scenario, Natural{}).jain_batches > 0.995);
  }
}

TEST_CASE("servers with timers are out of step from the start", "[simulate]") {
  Scenario scenario = Plain(200'000, 20);
  scenario.clients.count = 10;
  scenario.store.per_batch_us = 1000;
  const Result result = Simulate(scenario, Fixed{100ms});
  // In step, each would wait for half of the others: 5.5 ms on average.
  CHECK(result.store_latency_ms < 2);
  CHECK(result.interval_ms == Within(0.01, 100));
}

TEST_CASE("callers who are served less often than others are not called equal", "[simulate]") {
  Scenario scenario = Plain(0, 20);
  scenario.clients.count = 2;
  scenario.clients.arrivals = Arrivals::kClosed;
  scenario.clients.think_us = 0;
  const PolicyOf apart = [](std::uint32_t client) {
    return client == 0 ? Policy(Unbatched{}) : Policy(Fixed{1s});
  };
  CHECK(Simulate(scenario, apart).jain_throughput == Within(0.01, 0.5));
}

TEST_CASE("clients may start with policies of their own", "[simulate]") {
  Scenario scenario = Plain(4000, 20);
  scenario.clients.count = 4;
  const PolicyOf apart = [](std::uint32_t client) {
    return Policy(Fixed{client < 2 ? Duration(10ms) : Duration(1s)});
  };
  const Result result = Simulate(scenario, apart);
  CHECK(result.jain_batches == Within(0.05, 0.51));
  CHECK(result.policy == "fixed:10ms");
}

// --- The run
// ---------------------------------------------------------------------------------------

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
                   Policy(Constant{{.gap = 1ms, .probe = 3}})});
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
  SECTION("if its watcher says so") {
    const RunLimits limits{.watch = [](TimePoint now) { return now < TimePoint(30s); }};
    CHECK(Simulate(scenario, Unbatched{}, limits).measured_s == Within(0.1, 25));
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

// --- Parts
// -----------------------------------------------------------------------------------------

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
