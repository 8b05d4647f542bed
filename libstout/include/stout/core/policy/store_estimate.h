#pragma once

#include <optional>

#include "stout/core/policy.h"
#include "stout/core/policy/base_latency.h"
#include "stout/core/policy/cost_model.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// A server's estimates about its store: the cost of a batch, the latency of an idle store, and
/// whether the store serves batches one after the other. Most of them come from batches that were
/// cut in two (Decision::probe).
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class StoreEstimate {
 public:
  /// The two parts of a batch, both answered.
  struct Pair {
    double items;  ///< of the part that was answered last
    double apart;  ///< from the answer of the small part to that of the other; may be negative
  };

  /// Takes the first answer.
  void Begin(double latency) { base_.Begin(latency); }
  /// Takes the answer to a part. Returns the pair when the second of its parts is answered.
  std::optional<Pair> LearnPair(const BatchSample& part);
  /// Takes the latency of a batch. `weight`: the weight of this answer, as a share of a round trip.
  void LearnLatency(double latency, double items, bool small, double weight) {
    base_.Learn(latency, cost_.per_item() * (items - 1), small, weight);
  }

  /// Returns the effective number of pairs: the confidence in the costs.
  [[nodiscard]] double pairs() const { return cost_.samples(); }
  [[nodiscard]] const CostModel& cost() const { return cost_; }
  /// Returns the least latency of a batch: at an idle store, without the scatter of services.
  [[nodiscard]] double LeastLatency(double items) const {
    return base_.of_one() + cost_.per_item() * (items - 1);
  }
  /// Returns the mean latency of a batch at an idle store: the least latency plus the scatter of
  /// services, which is not a queue.
  [[nodiscard]] double IdleLatency(double items) const;
  /// Returns the mean deviation of the pairs from their cost, in idle latencies.
  [[nodiscard]] double scatter() const { return scatter_; }
  /// Returns 0 if the store serves batches one after the other, and 1 if it serves many at once, by
  /// group commit or by parallel servers.
  [[nodiscard]] double Together() const;
  /// Returns true if one sync answers all batches that wait for it.
  [[nodiscard]] bool SharesSyncs() const;

  bool operator==(const StoreEstimate&) const = default;

 private:
  /// The part of a pair that was answered first.
  struct Half {
    TimePoint sent = TimePoint::min();
    TimePoint done{};
    bool operator==(const Half&) const = default;
  };

  CostModel cost_;
  BaseLatency base_;
  Half half_;
  double together_ = 0;   // share of the pairs whose answers came together
  double same_sync_ = 0;  // share of the pairs whose answers came in one instant
  double scatter_ = 0;
};

}  // namespace stout::inline v1
