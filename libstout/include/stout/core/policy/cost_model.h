#pragma once

#include <algorithm>

namespace stout::inline v1 {

/// Estimates the cost of a batch at a store that serves batches one after the other:
/// `fixed + per_item * items` seconds.
///
/// It learns from pairs of batches that were sent in the same instant. The store begins the second
/// batch when the first is done. The time between their answers is therefore the cost of the
/// second, however long the queue is. A store that serves many batches in parallel answers both
/// together, or in any order. The estimate is then small or zero, and indeed the batch hardly
/// delays others.
///
/// The fit is least squares with exponentially fading memory, because costs change. If all batches
/// have the same size, many lines fit equally well. A small ridge then prefers a small `fixed`.
///
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class CostModel {
 public:
  /// `items`: > 0. `seconds`: time between the two answers; negative if they overtook each other.
  /// `most`: a time within which a batch of one item was answered, so a bound of its cost.
  void Learn(double items, double seconds, double most) {
    samples_ = samples_ * kMemory + 1;
    items_ = items_ * kMemory + items;
    seconds_ = seconds_ * kMemory + seconds;
    items_squared_ = items_squared_ * kMemory + items * items;
    product_ = product_ * kMemory + items * seconds;
    Fit(most);
  }

  /// Returns the effective number of pairs: the sum of their weights.
  [[nodiscard]] double samples() const { return samples_; }
  [[nodiscard]] double fixed() const { return fixed_; }        ///< seconds, >= 0
  [[nodiscard]] double per_item() const { return per_item_; }  ///< seconds, >= 0
  [[nodiscard]] double Of(double items) const { return fixed_ + per_item_ * items; }

  bool operator==(const CostModel&) const = default;

 private:
  static constexpr double kMemory = 0.99;  // weight of a pair, relative to the next pair
  static constexpr double kRidge = 0.01;

  void Fit(double most) {
    const double mean_items = items_ / samples_;
    const double mean_seconds = seconds_ / samples_;
    const double variance = items_squared_ / samples_ - mean_items * mean_items;
    const double covariance = product_ / samples_ - mean_items * mean_seconds;
    const double slope = (covariance + kRidge * mean_items * mean_seconds) /
                         (variance + kRidge * mean_items * mean_items);
    per_item_ = slope < 0 ? 0 : slope;
    const double steepest = mean_seconds > 0 ? mean_seconds / mean_items : 0;  // fixed_ >= 0
    if (per_item_ > steepest) per_item_ = steepest;
    fixed_ = mean_seconds - per_item_ * mean_items;
    if (fixed_ < 0) fixed_ = 0;
    if (Of(1) > most && mean_seconds > most && mean_items > 2) {
      per_item_ = (mean_seconds - most) / (mean_items - 1);
      fixed_ = std::max(0.0, most - per_item_);
    }
  }

  double samples_ = 0;
  double items_ = 0;
  double seconds_ = 0;
  double items_squared_ = 0;
  double product_ = 0;
  double fixed_ = 0;
  double per_item_ = 0;
};

}  // namespace stout::inline v1
