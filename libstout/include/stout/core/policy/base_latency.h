#pragma once

#include <algorithm>

namespace stout::inline v1 {

/// The latency of a batch of one item at an idle store: the least that was seen, rising slowly,
/// since what was the least once need not be possible any more.
///
/// A latency is taken as it is; what is left of a larger batch's when the cost of its items is
/// subtracted, an estimate less an estimate, counts through a short average only.
///
/// The rise is slow because all servers on a store must come to the same value or the law would
/// favour those who believe in a longer one; see docs/ADAPTIVE.md, "Fairness".
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class BaseLatency {
 public:
  /// The first answer; its size does not matter yet.
  void Begin(double latency) { least_ = average_ = latency; }

  /// `items_cost`: what the items beyond the first added. `small`: at most two items. `weight`: of
  /// this answer, 0..1, as a share of a round trip.
  void Learn(double latency, double items_cost, bool small, double weight) {
    const double one = latency - items_cost;
    const bool telling = small || (one < least_ && items_cost < least_ / 2);
    if (one > 0 && telling) average_ += kAverage * (one - average_);
    if (average_ > 0 && average_ < least_) {
      least_ = average_;
    } else {
      least_ = std::min(least_ * (1 + kRise * weight), latency);
    }
    if (items_cost == 0 && latency < kFarBelow * least_) least_ = latency;
  }

  [[nodiscard]] double of_one() const { return least_; }

  bool operator==(const BaseLatency&) const = default;

 private:
  static constexpr double kAverage = 0.3;
  static constexpr double kRise = 2e-5;     // a round trip; measured: 5e-4 makes servers unequal
  static constexpr double kFarBelow = 0.3;  // then averaging would take too long

  double least_ = 0;
  double average_ = 0;
};

}  // namespace stout::inline v1
