#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"
#include "stout/core/policy/base_latency.h"
#include "stout/core/policy/cost_model.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The constants of the adaptive law; docs/ADAPTIVE.md derives them. None depends on how fast the
/// store is. "Measured": chosen on the tuning grid, where it is flat around the value.
struct AdaptiveOptions {
  // --- The law -------------------------------------------------------------------------------

  /// cycle = linear * delay + square * delay^2 / service: the best spacing for all, from the
  /// queueing delay that one sees. Derived as 1..2 and 2..4; measured.
  double linear = 1.5;
  double square = 3;
  /// The cycle is at most this multiple of the queueing delay. Measured.
  double cap = 12;
  /// Share of the error in the delay by which one answer corrects the cycle. Half is the most that
  /// converges without ringing where a longer cycle shortens the queue one for one. Derived.
  double gain = 0.5;
  /// The most by which an answer shortens the cycle if there is hardly any queue. Measured.
  double decay = 0.15;
  /// Of the newest batch in the averages (EWMA). Measured.
  double weight = 0.25;
  /// Items of a full batch: those that cost as much as so many idle latencies, or fewer (down to
  /// one idle latency) while full batches are served side by side without a queue. Full batches go
  /// at once: to let them grow would save a sixteenth at most. Measured: twice as large fills
  /// parallel servers too slowly, half as large loses capacity near saturation.
  double full = 16;
  /// Of all cycles. An hour: beyond what any store needs.
  Duration ceiling = std::chrono::hours(1);

  // --- What it has to find out -----------------------------------------------------------------

  /// Of the batches, how many are cut in two to learn what a batch costs. Each such pair costs the
  /// store one batch more. Measured: 0.04 is worse, 0.005 learns too slowly.
  double probe_share = 0.01;
  /// At the start, how many times as long as the latest latency the cycle is, so that a whole
  /// fleet that starts at once sees an empty queue. Measured.
  double polite = 4;
  /// Answers after which politeness ends at the latest. Measured.
  std::size_t polite_answers = 6;

  bool operator==(const AdaptiveOptions&) const = default;
};

/// Natural batching, and a pause after each answer as long as is best for all who share the store.
///
/// Sending when the last batch is done bounds the queue and adapts to any speed, but when N servers
/// share one store all N have a batch in its queue all the time: each change waits for 1.5 rounds
/// of all servers where 0.5 would do. So this law pauses: it measures how long its batches queue,
///
///     delay = latency - (latency of such a batch at an idle store)
///     cycle = linear * delay + square * delay^2 / service          (the social optimum, see below)
///     pause = cycle - (latency at an idle store)
///
/// where `service` is what one batch costs the store. The square stands for the number of servers,
/// which nobody knows: with N of them the best delay grows as sqrt(N) services while the best cycle
/// grows as N. Both sides of the rule are equal for all servers on one store, so that they end up
/// with equal cycles whatever they started with.
///
/// | what is seen                                   | what is done                                |
/// |------------------------------------------------|---------------------------------------------|
/// | a queue                                        | the pause above, one batch in flight        |
/// | no queue, round trip much longer than service  | no pause, several batches in flight         |
/// | batches of one change: there is nothing to gain| no pause                                    |
/// | a quarter to half of the store's work is mine  | less pause, then none: I wait for myself    |
/// | batches sent together are answered together    | no pause: group commit, parallel servers    |
/// | ... at once, and I wait for syncs of others'  | two in flight, 3/4 of a latency apart       |
/// | a batch costs many times what an empty one does| no pause: larger ones would save nothing    |
/// | more is waiting than a full batch              | it goes now, beside those in flight         |
/// | a batch failed (overload, time-out)            | the cycle doubles, 8 times at most in a row |
/// | no batch can be cut (prefix ordering, reads)   | natural batching: costs stay unknown        |
///
/// What it assumes: the store's queue is first come, first served, roughly. Where it fails is in
/// docs/ADAPTIVE.md.
///
/// Units: seconds inside.   Owner: value type.   Threads: none of its own.   Errors: cannot fail;
/// requires options in range, as MakePolicy checks.
/// Paper: replaces the law of Stout (ATC'10), "Algorithm", keeping its signal and its interface.
class Adaptive {
 public:
  explicit Adaptive(const AdaptiveOptions& options = {}) : options_(options) {}

  [[nodiscard]] Decision Start() const { return {}; }
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const;

  [[nodiscard]] const AdaptiveOptions& options() const { return options_; }
  bool operator==(const Adaptive&) const = default;

 private:
  /// The half of a probe that was answered first.
  struct HalfPair {
    TimePoint sent = TimePoint::min();
    TimePoint done{};
    bool operator==(const HalfPair&) const = default;
  };

  void BackOff(const BatchSample& sample);
  void SetCycle(double cycle);
  void LearnCost(const BatchSample& sample);
  void Begin(const BatchSample& sample);
  void BePolite(double latency, bool small);
  void EndPoliteness(double cycle);
  void Adjust(const BatchSample& sample, double items, double latency, double weight);
  [[nodiscard]] double IdleLatency(double items) const;
  [[nodiscard]] double BestDelay(double cycle) const;
  [[nodiscard]] double FixedShare() const;
  void SizeFullBatch(double queue, double weight);
  [[nodiscard]] std::size_t FullBatch() const;
  [[nodiscard]] double LeastCycle() const;
  [[nodiscard]] double PauseShare() const;
  [[nodiscard]] bool SharesSyncs() const;
  [[nodiscard]] double ProbeShare() const;
  [[nodiscard]] bool polite() const { return polite_left_ > 0; }
  [[nodiscard]] Decision Decide(TimePoint now) const;

  AdaptiveOptions options_;
  CostModel cost_;
  BaseLatency base_;
  HalfPair half_;
  double together_ = 0;   // share of the pairs whose answers came together
  double same_sync_ = 0;  // share of those whose answers came in one instant
  double scatter_ = 0;    // mean deviation of the pairs from their cost, in idle latencies

  std::uint64_t answers_ = 0;
  TimePoint last_done_{};
  TimePoint backed_off_ = TimePoint::min();

  // Seconds; of recent batches.
  double cycle_ = 0;         // wanted, from send to send
  double probed_cycle_ = 0;  // the same, at the last pair
  double before_failures_ =
      0;  // the same, when the present row of failures began; 0: there is none
  double latency_ = 0;
  double newest_latency_ = 0;  // of the newest batch alone
  double idle_ = 0;            // of the latency: at an idle store
  double service_ = 0;         // of the latency: cost to the store
  double delay_ = 0;           // of the latency: queueing

  double items_ = 1;        // mean of recent batches
  double own_load_ = 0;     // share of the store's time that is mine
  double others_sync_ = 0;  // how long batches wait that are alone in flight, in idle latencies

  double full_latencies_ = 0;     // cost of a full batch, in idle latencies
  std::size_t full_window_ = 0;   // full batches in flight
  std::size_t polite_left_ = 0;   // answers
  std::size_t polite_whole_ = 0;  // answers of batches that were not small, while polite
  double polite_least_ = 0;       // latency
  double polite_last_ = 0;        // latency
};

/// Reads "cap=16,probe_share=0.02". Nothing if malformed or out of range; `error` says what.
[[nodiscard]] std::optional<AdaptiveOptions> ReadAdaptiveOptions(std::string_view text,
                                                                 std::string& error);

/// A line for each option: name, default, range, meaning.
[[nodiscard]] std::string DescribeAdaptiveOptions();

}  // namespace stout::inline v1
