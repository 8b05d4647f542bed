#pragma once

#include <algorithm>

namespace stout::inline v1 {

/// Estimates the latency of a batch of one item at an idle store. The estimate is the smallest
/// latency so far. It rises slowly, because a store may become slower for good.
///
/// Every latency counts directly, because a batch of one item takes no longer than a larger batch.
/// A latency less the cost of the further items counts only through a short average, because that
/// cost is an estimate itself.
///
/// The rise is slow because all servers on a store must reach the same value. Otherwise the law
/// favours the servers with the larger estimate; see docs/ADAPTIVE.md.
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class BaseLatency {
 public:
  /// Takes the latency of the first answer, of any size.
  void Begin(double latency) { least_ = average_ = latency; }

  /// `items_cost`: the time that the items beyond the first added. `small`: the batch had at most
  /// two items. `weight`: the weight of this answer, 0..1, as a share of a round trip.
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
  static constexpr double kRise = 2e-5;     // per round trip; measured: 5e-4 makes servers unequal
  static constexpr double kFarBelow = 0.3;  // below this the average would take too long

  double least_ = 0;
  double average_ = 0;
};

}  // namespace stout::inline v1
