#pragma once

#include <cstdint>
#include <string>

#include "stout/core/policy.h"
#include "stout/core/policy/adaptive_options.h"
#include "stout/core/policy/batching_cycle.h"
#include "stout/core/policy/full_batch.h"
#include "stout/core/policy/polite_start.h"
#include "stout/core/policy/recent_batches.h"
#include "stout/core/policy/store_estimate.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// Natural batching with a pause after each answer. The length of the pause is best for all servers
/// that share the store.
///
/// Natural batching sends when the last batch is done. This bounds the queue and adapts to any
/// speed. But if N servers share one store, all N always have a batch in its queue. Each change
/// then waits for 1.5 rounds of all servers, although 0.5 would be enough. This law therefore
/// pauses. It measures the queue that its batches meet:
///
///     delay = latency - (latency of such a batch at an idle store)
///     queue = min(delay, delay of the batch before)
///     cycle = linear * queue + square * queue^2 / service          (the social optimum, see below)
///     pause = cycle - (latency at an idle store)
///
/// Only the part of a delay that two batches in a row met counts as a queue. The delays of servers
/// that take turns are nearly equal; a jittery network or one slow service delays one batch alone.
///
/// `service` is the cost of one batch to the store. The square replaces the number of servers N,
/// which is unknown: the best delay grows as sqrt(N) services, and the best cycle grows as N. Both
/// sides of the rule are equal for all servers on one store. Therefore they reach equal cycles from
/// any start.
///
/// | observation                                    | action                                      |
/// |------------------------------------------------|---------------------------------------------|
/// | a queue                                        | the pause above, one batch in flight        |
/// | a long round trip: cycle below the least       | no pause, several batches in flight         |
/// | latency, and mean latency below twice that     |                                             |
/// | batches of one change, even after a pause      | no pause: there is nothing to gain          |
/// | 1/4 to 1/2 of the store's work is this lane's  | a shorter pause, then none: it waits for    |
/// |                                                | its own batches                             |
/// | batches sent together are answered together    | no pause: group commit, parallel servers    |
/// | as above, in one instant, and batches wait for | two in flight, 3/4 of a latency apart       |
/// | the syncs of other servers                     |                                             |
/// | a batch costs much more than an empty one      | no pause: larger batches would save nothing |
/// | more keys wait than a full batch holds         | a full batch is sent now                    |
/// | a batch failed (overload, timeout)             | the cycle doubles, at most to eight times   |
/// | no batch can be cut (prefix ordering, reads)   | natural batching: costs stay unknown        |
///
/// Assumption: the store's queue is roughly first come, first served. See docs/ADAPTIVE.md for the
/// cases in which the law fails.
///
/// Units: seconds inside.   Owner: value type.   Threads: none of its own.   Errors: cannot fail;
/// requires options in range, as MakePolicy checks.
/// Paper: replaces the law of Stout (ATC'10), "Algorithm", keeping its signal and its interface.
class Adaptive {
 public:
  explicit Adaptive(const AdaptiveOptions& options = {});

  [[nodiscard]] Decision Start() const;
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const;

  [[nodiscard]] const AdaptiveOptions& options() const { return options_; }
  bool operator==(const Adaptive&) const = default;

 private:
  /// The regime, the share of the pause, and the reason.
  struct Choice {
    Regime regime;
    Reason reason;
    double pause = 0;  ///< share of the pause, for Regime::kPaced
  };

  // Learning from an answer.
  void Begin(const BatchSample& sample);
  void LearnPair(const BatchSample& part);
  void LearnBatch(const BatchSample& sample);
  void BePolite(double latency, bool small);
  void EndPoliteness(double cycle);
  void Adjust(const BatchSample& sample, double items, double latency, double weight);

  // The law.
  [[nodiscard]] double FixedShare() const;
  [[nodiscard]] double BestQueue(double cycle) const;
  [[nodiscard]] bool Overlaps() const;
  [[nodiscard]] double LeastCycle() const;

  // Deciding.
  [[nodiscard]] Choice Choose() const;
  [[nodiscard]] Choice ChoosePause() const;
  [[nodiscard]] double ProbeShare() const;
  [[nodiscard]] Decision Decide(TimePoint now) const;

  AdaptiveOptions options_;
  StoreEstimate store_;
  RecentBatches recent_;
  BatchingCycle cycle_;
  PoliteStart start_;
  FullBatch full_;

  std::uint64_t answers_ = 0;
  TimePoint last_done_{};
  double probed_cycle_ = 0;  // the cycle at the last pair
};

}  // namespace stout::inline v1
