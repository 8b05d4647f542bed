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

/// The constants of the adaptive law; docs/ADAPTIVE.md derives them. None depends on the speed of
/// the store. "Measured": chosen on the tuning grid, whose results are flat around the value.
struct AdaptiveOptions {
  // --- The law -------------------------------------------------------------------------------

  /// cycle = linear * delay + square * delay^2 / service: the spacing that is best for all servers,
  /// from the queueing delay of one server. Derived as 1..2 and 2..4; measured.
  double linear = 1.5;
  double square = 3;
  /// The cycle is at most this multiple of the queueing delay. Measured.
  double cap = 12;
  /// Share of the error in the delay by which one answer corrects the cycle. 0.5 is the largest
  /// value that converges without ringing if a longer cycle shortens the queue one for one.
  /// Derived.
  double gain = 0.5;
  /// Largest share by which one answer shortens the cycle when there is hardly any queue. Measured.
  double decay = 0.15;
  /// Weight of the newest batch in the averages (EWMA). Measured.
  double weight = 0.25;
  /// Cost of the items of a full batch, in idle latencies. It is smaller, down to 1, while full
  /// batches are served in parallel without a queue. Full batches are sent at once, because larger
  /// ones would save at most 1/16 of the cost. Measured: twice as large fills parallel servers too
  /// slowly, half as large loses capacity near saturation.
  double full = 16;
  /// Upper bound of every cycle. One hour exceeds the need of any store.
  Duration ceiling = std::chrono::hours(1);

  // --- Probes and the start ----------------------------------------------------------------------

  /// Share of the batches that are cut in two to learn the cost of a batch. Each such pair costs
  /// the store one more batch. Measured: 0.04 is worse, 0.005 learns too slowly.
  double probe_share = 0.01;
  /// Cycle at the start, as a multiple of the latest latency. It is long, so that a whole fleet
  /// that starts at once sees an empty queue. Measured.
  double polite = 4;
  /// Number of answers after which the polite start ends at the latest. Measured.
  std::size_t polite_answers = 6;

  bool operator==(const AdaptiveOptions&) const = default;
};

/// Natural batching with a pause after each answer, whose length is best for all servers that share
/// the store.
///
/// Natural batching sends when the last batch is done. That bounds the queue and adapts to any
/// speed. But if N servers share one store, all N always have a batch in its queue. Each change
/// then waits for 1.5 rounds of all servers, although 0.5 would be enough. This law therefore
/// pauses. It measures the queueing delay of its batches:
///
///     delay = latency - (latency of such a batch at an idle store)
///     cycle = linear * delay + square * delay^2 / service          (the social optimum, see below)
///     pause = cycle - (latency at an idle store)
///
/// `service` is the cost of one batch to the store. The square replaces the number of servers N,
/// which is unknown: the best delay grows as sqrt(N) services, and the best cycle grows as N. Both
/// sides of the rule are equal for all servers on one store. Therefore they reach equal cycles from
/// any start.
///
/// | observation                                    | action                                      |
/// |------------------------------------------------|---------------------------------------------|
/// | a queue                                        | the pause above, one batch in flight        |
/// | no queue, round trip much longer than service  | no pause, several batches in flight         |
/// | batches of one change                          | no pause: there is nothing to gain          |
/// | 1/4 to 1/2 of the store's work is this lane's  | a shorter pause, then none: it waits for    |
/// |                                                | its own batches                             |
/// | batches sent together are answered together    | no pause: group commit, parallel servers    |
/// | the same in one instant, and a wait for the    | two in flight, 3/4 of a latency apart       |
/// | syncs of other servers                         |                                             |
/// | a batch costs much more than an empty one      | no pause: larger batches would save nothing |
/// | more keys wait than a full batch holds         | it is sent now, beside those in flight      |
/// | a batch failed (overload, time-out)            | the cycle doubles, at most 8 times in a row |
/// | no batch can be cut (prefix ordering, reads)   | natural batching: costs stay unknown        |
///
/// Assumption: the store's queue is roughly first come, first served. docs/ADAPTIVE.md lists the
/// cases in which the law fails.
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
  double same_sync_ = 0;  // share of these pairs whose answers came in one instant
  double scatter_ = 0;    // mean deviation of the pairs from their cost, in idle latencies

  std::uint64_t answers_ = 0;
  TimePoint last_done_{};
  TimePoint backed_off_ = TimePoint::min();

  // Seconds, as means over recent batches.
  double cycle_ = 0;         // wanted, from send to send
  double probed_cycle_ = 0;  // the same, at the last pair
  double before_failures_ =
      0;  // the same, when the present row of failures began; 0: there is none
  double latency_ = 0;
  double newest_latency_ = 0;  // of the newest batch alone
  double idle_ = 0;            // part of the latency: at an idle store
  double service_ = 0;         // part of the latency: cost to the store
  double delay_ = 0;           // part of the latency: queueing

  double items_ = 1;        // mean of recent batches
  double own_load_ = 0;     // share of the store's time for this lane
  double others_sync_ = 0;  // wait of batches that are alone in flight, in idle latencies

  double full_latencies_ = 0;     // cost of a full batch, in idle latencies
  std::size_t full_window_ = 0;   // full batches in flight
  std::size_t polite_left_ = 0;   // answers
  std::size_t polite_whole_ = 0;  // answers of batches that were not small, while polite
  double polite_least_ = 0;       // latency
  double polite_last_ = 0;        // latency
};

/// Reads "cap=16,probe_share=0.02". Returns nullopt if malformed or out of range; then `error`
/// gives the cause.
[[nodiscard]] std::optional<AdaptiveOptions> ReadAdaptiveOptions(std::string_view text,
                                                                 std::string& error);

/// Returns a line for each option: name, default, range, meaning.
[[nodiscard]] std::string DescribeAdaptiveOptions();

}  // namespace stout::inline v1
