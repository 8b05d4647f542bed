// The loads of a simulation: bursts, recordings, unequal clients, and clients that come and go.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
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

TEST_CASE("clients that turn on and off have the mean rate from the start", "[simulate]") {
  Scenario scenario = Plain(1000, 1);
  scenario.warmup_s = 0;
  scenario.store.per_batch_us = 1;
  scenario.clients.count = 200;
  scenario.clients.arrivals = Arrivals::kOnOff;
  scenario.clients.on_ms = 1000;
  scenario.clients.off_ms = 9000;
  CHECK(Simulate(scenario, Unbatched{}).offered_per_s == Within(0.5, 1000));
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

}  // namespace
}  // namespace stout::sim
