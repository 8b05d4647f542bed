// The adaptive law, fed with answers by hand.

#include <array>
#include <string>
#include <utility>

#include "stout/core/policy/adaptive.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

BatchSample Answer(TimePoint sent, Duration latency, std::size_t items,
                   BatchPart part = BatchPart::kWhole) {
  return {.items = items, .sent = sent, .done = sent + latency, .in_flight = 1, .part = part};
}

}  // namespace

TEST_CASE("adaptive: probes every batch at the start, few once costs are known") {
  Adaptive policy;
  TimePoint now{};
  Decision decision = policy.Observe(Answer(now, 1ms, 5));
  int early = 0;
  int late = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool cut = decision.probe > 0;
    (i < 5 ? early : late) += static_cast<int>(cut);
    now += 2ms + Duration(i % 7);
    if (cut) policy.Observe(Answer(now, 1ms, 1, BatchPart::kProbe));
    decision = policy.Observe(cut ? Answer(now, 1100us, 4, BatchPart::kRest) : Answer(now, 1ms, 5));
  }
  CHECK(early >= 3);
  CHECK(late < 120);
  CHECK(late > 10);
}

TEST_CASE("adaptive: a failed batch doubles the cycle once a round trip") {
  const auto pause_after = [](int failures_at_once) {
    Adaptive policy;
    TimePoint now{};
    Decision decision = policy.Observe(Answer(now, 1ms, 1));
    const Duration before = decision.gap;
    for (int i = 0; i < failures_at_once; ++i) {
      BatchSample failed = Answer(now + 1ms, 1ms, 1);
      failed.errc = Errc::kTransient;
      decision = policy.Observe(failed);
    }
    return std::pair(before, decision.gap);
  };
  const auto [before, once] = pause_after(1);
  CHECK(once > before * 19 / 10);
  CHECK(once < before * 5 / 2);
  const auto [same, often] = pause_after(20);
  CHECK(same == before);
  CHECK(often == once);
}

TEST_CASE("adaptive: an outage lengthens the cycle eightfold at most") {
  Adaptive policy;
  TimePoint now{};
  const Duration before = policy.Observe(Answer(now, 1ms, 1)).gap;
  Decision decision;
  for (int i = 0; i < 30; ++i) {
    now += 100ms;
    BatchSample failed = Answer(now, 50ms, 1);
    failed.errc = Errc::kTransient;
    decision = policy.Observe(failed);
    now += 50ms;
  }
  CHECK(decision.gap > 6 * before);
  CHECK(decision.gap < 10 * before);
}

TEST_CASE("adaptive: is natural batching where no batch is ever cut, as in prefix ordering") {
  Adaptive policy;
  TimePoint now{};
  Decision decision;
  std::size_t items = 1;
  for (int i = 0; i < 500; ++i) {  // a server alone at 2,000 changes/s: 1.5 ms and 0.1 ms an item
    const Duration latency = 1500us + 100us * static_cast<int>(items);
    decision = policy.Observe(Answer(now, latency, items));
    now += latency + decision.gap;
    items = std::max<std::size_t>(1, static_cast<std::size_t>((latency + decision.gap) / 500us));
  }
  CHECK(decision.gap == Duration::zero());
  CHECK(decision.interval == Duration::zero());
  CHECK(decision.window == 1);
  CHECK(items < 10);
}

TEST_CASE("adaptive: no pause exceeds the ceiling, from the first answer on") {
  Adaptive policy({.ceiling = 10ms});
  CHECK(policy.Observe(Answer({}, 9s, 1)).gap <= 11ms);
}

TEST_CASE("adaptive: too large a batch says nothing about congestion") {
  Adaptive policy;
  (void)policy.Observe(Answer(TimePoint{}, 1ms, 1));
  const Adaptive before = policy;
  BatchSample failed = Answer(TimePoint{} + 1ms, 1ms, 1);
  failed.errc = Errc::kTooLarge;
  (void)policy.Observe(failed);
  CHECK(policy == before);
}

TEST_CASE("adaptive: pairs that are answered together end the pauses") {
  Adaptive policy;
  TimePoint now{};
  Decision decision;
  for (int i = 0; i < 50; ++i) {
    (void)policy.Observe(Answer(now, 10ms, 1, BatchPart::kProbe));
    decision = policy.Observe(Answer(now, 10ms, 20, BatchPart::kRest));
    now += 10ms;
  }
  CHECK(decision.gap == Duration::zero());
}

namespace {

/// Returns the decision after pairs whose answers are `apart` (in every second pair the other way
/// round) at a store with an idle latency of 10 ms, and then many batches answered after `latency`.
Decision AfterPairs(Duration apart, Duration latency) {
  Adaptive policy;
  TimePoint now{};
  Decision decision;
  for (int i = 0; i < 100; ++i) {
    if (i < 50) {
      const Duration probe = i % 2 == 0 ? Duration::zero() : 2 * apart;
      (void)policy.Observe(Answer(now, 10ms + probe, 1, BatchPart::kProbe));
      (void)policy.Observe(Answer(now, 10ms + apart, 20, BatchPart::kRest));
    }
    decision = policy.Observe(Answer(now, i < 50 ? 10ms : latency, 20));
    now += latency;
  }
  return decision;
}

}  // namespace

TEST_CASE("adaptive: who waits for syncs of others sends more often than they are answered") {
  const Decision waits = AfterPairs(Duration::zero(), 20ms);
  CHECK(waits.interval > 12ms);
  CHECK(waits.interval < 18ms);
  CHECK(waits.window == 2);
  const Decision alone = AfterPairs(Duration::zero(), 10ms);
  CHECK(alone.window == 1);
  CHECK(alone.interval == Duration::zero());
}

TEST_CASE("adaptive: answers that overtake each other are servers side by side, not a sync") {
  const Decision side_by_side = AfterPairs(2ms, 10ms);
  CHECK(side_by_side.window > 2);
  CHECK(side_by_side.interval < 5ms);
}

namespace {

/// A policy that knows what a batch costs: 1 ms and 0.1 ms an item, with 0.5 ms of round trip.
Adaptive KnowingCosts(TimePoint& now) {
  Adaptive policy;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t rest = 10 + 5 * (i % 4);
    const Duration second = 1ms + 100us * static_cast<int>(rest);
    (void)policy.Observe(Answer(now, 1600us, 1, BatchPart::kProbe));
    (void)policy.Observe(Answer(now, 1600us + second, rest, BatchPart::kRest));
    now += 20ms;
  }
  return policy;
}

/// The size of a full batch after many of 200 items, three in flight, each answered after
/// `latency`.
std::size_t FullBatchAfter(Duration latency) {
  TimePoint now{};
  Adaptive policy = KnowingCosts(now);
  Decision decision;
  for (int i = 0; i < 100; ++i) {
    BatchSample answer = Answer(now, latency, 200);
    answer.in_flight = 3;
    decision = policy.Observe(answer);
    now += latency;
  }
  return decision.max_items;
}

}  // namespace

TEST_CASE("adaptive: full batches shrink while they are served side by side, grow if they queue") {
  const std::size_t side_by_side = FullBatchAfter(21ms);  // as if alone: no queue
  const std::size_t in_turn = FullBatchAfter(63ms);
  const std::size_t overloaded = FullBatchAfter(630ms);
  CHECK(side_by_side < 120);  // half of 21 ms at 0.1 ms an item
  CHECK(in_turn > 2 * side_by_side);
  CHECK(overloaded > 2500);  // half the latency
}

// --- The regime and its reason -------------------------------------------------------------------

namespace {

std::string WordsOf(const Decision& decision) {
  return std::string(NameOf(decision.regime)) + ": " + std::string(NameOf(decision.reason));
}

/// Returns the decision after many batches that are sent at equal spacing.
Decision AfterBatches(Adaptive policy, TimePoint now, std::size_t items, Duration latency,
                      Duration spacing = 40ms) {
  Decision decision;
  for (int i = 0; i < 200; ++i) {
    BatchSample sample = Answer(now, latency, items);
    sample.spacing = spacing;
    decision = policy.Observe(sample);
    now += spacing;
  }
  return decision;
}

}  // namespace

TEST_CASE("adaptive: says how it starts") {
  Adaptive policy;
  CHECK(WordsOf(policy.Start()) == "starting: unknown_costs");
  CHECK(WordsOf(policy.Observe(Answer({}, 1ms, 1))) == "starting: polite_start");
  CHECK(WordsOf(AfterBatches(policy, TimePoint(1s), 1, 1ms)) == "natural: unknown_costs");
}

TEST_CASE("adaptive: a failure is the reason until the next answer") {
  TimePoint now{};
  Adaptive policy = KnowingCosts(now);
  BatchSample failed = Answer(now, 1ms, 1);
  failed.errc = Errc::kTransient;
  CHECK(policy.Observe(failed).reason == Reason::kFailure);
  CHECK(policy.Observe(Answer(now + 1ms, 1ms, 1)).reason != Reason::kFailure);
}

TEST_CASE("adaptive: says why it pauses, and why it does not") {
  TimePoint now{};
  const Adaptive policy = KnowingCosts(now);  // 20 items take 3.5 ms at an idle store
  CHECK(WordsOf(AfterBatches(policy, now, 20, 12ms)) == "paced: queue");
  CHECK(WordsOf(AfterBatches(policy, now, 20, 12ms, 4ms)) == "natural: alone");
  CHECK(WordsOf(AfterBatches(policy, now, 1, 12ms, 400ms)) == "natural: single_change");
}

TEST_CASE("adaptive: single changes that a cycle would gather are no reason not to pause") {
  TimePoint now{};
  const Adaptive policy = KnowingCosts(now);
  CHECK(WordsOf(AfterBatches(policy, now, 1, 12ms, 13ms)) == "paced: queue");
}

namespace {

/// Returns the decision after many batches of 20 items, which take 3.5 ms at an idle store.
/// `latencies` and `in_flight` alternate.
Decision AfterTurns(std::array<Duration, 2> latencies, std::array<std::size_t, 2> in_flight) {
  TimePoint now{};
  Adaptive policy = KnowingCosts(now);
  Decision decision;
  for (std::size_t i = 0; i < 200; ++i) {
    BatchSample sample = Answer(now, latencies[i % 2], 20);
    sample.spacing = 40ms;
    sample.in_flight = in_flight[i % 2];
    decision = policy.Observe(sample);
    now += sample.spacing;
  }
  return decision;
}

}  // namespace

TEST_CASE("adaptive: a delay is a queue only if two batches in a row met it") {
  CHECK(AfterTurns({12ms, 12ms}, {1, 1}).gap > 10ms);
  CHECK(AfterTurns({8ms, 16ms}, {1, 1}).gap > 0ms);
  const Decision spikes = AfterTurns({3500us, 20500us}, {1, 1});  // the same mean
  CHECK(spikes.gap == Duration::zero());
  CHECK(WordsOf(spikes) == "natural: no_queue");  // and the store is not idle
  CHECK(WordsOf(AfterTurns({3500us, 3700us}, {1, 1})) == "pipelined: long_round_trip");
}

TEST_CASE("adaptive: a batch behind others of its server does not hide a queue of other servers") {
  CHECK(AfterTurns({40ms, 40ms}, {1, 3}).gap > AfterTurns({8ms, 8ms}, {1, 1}).gap);
}

TEST_CASE("adaptive: says that the store serves many batches at once") {
  CHECK(WordsOf(AfterPairs(Duration::zero(), 10ms)) == "natural: no_queue");
  CHECK(WordsOf(AfterPairs(Duration::zero(), 20ms)) == "shared_sync: others_sync");
  CHECK(WordsOf(AfterPairs(2ms, 10ms)) == "pipelined: long_round_trip");
  Adaptive policy;  // the rest is answered before its probe
  for (int i = 0; i < 50; ++i) {
    const TimePoint now(i * 10ms);
    (void)policy.Observe(Answer(now, 12ms, 1, BatchPart::kProbe));
    (void)policy.Observe(Answer(now, 10ms, 20, BatchPart::kRest));
  }
  CHECK(WordsOf(AfterBatches(policy, TimePoint(1s), 20, 60ms)) == "natural: parallel_store");
}

TEST_CASE("adaptive: noisy answers are no reason for more batches in flight") {
  // The least latency is 10 ms, and pairs scatter by more. A mean of 24 ms can be noise or a queue.
  CHECK(WordsOf(AfterPairs(14ms, 18ms)) == "pipelined: long_round_trip");
  CHECK(WordsOf(AfterPairs(14ms, 24ms)) == "natural: no_queue");
}

TEST_CASE("adaptive: a slow first answer does not delay several batches in flight") {
  Adaptive policy;
  TimePoint now{};
  Decision decision = policy.Observe(Answer(now, 1s, 20));
  for (int i = 0; i < 10; ++i) {  // the rest is answered 2 ms after its probe, or before
    now += 2s;
    (void)policy.Observe(Answer(now, i % 2 == 0 ? 10ms : 14ms, 1, BatchPart::kProbe));
    decision = policy.Observe(Answer(now, 12ms, 20, BatchPart::kRest));
  }
  CHECK(WordsOf(decision) == "pipelined: long_round_trip");
}

TEST_CASE("adaptive: its name makes an equal policy") {
  std::string error;
  const auto options = ReadAdaptiveOptions("cap=20,polite_answers=9", error);
  REQUIRE(options);
  CHECK(options->cap == 20);
  CHECK(Adaptive(*options).Name() == "adaptive:cap=20,polite_answers=9");
  CHECK(Adaptive().Name() == "adaptive");
  CHECK_FALSE(ReadAdaptiveOptions("cap=0.5", error));
  CHECK(error.find("cap") != std::string::npos);
}

}  // namespace stout
