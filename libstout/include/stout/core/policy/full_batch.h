#pragma once

#include <cstddef>

#include "stout/core/policy/store_estimate.h"

namespace stout::inline v1 {

/// The size of a full batch, and the number of full batches that may be in flight. A full batch is
/// sent at once: its fixed cost hardly counts, so a larger batch would save little.
///
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class FullBatch {
 public:
  /// `largest`: cost of the items of the largest full batch, in idle latencies.
  explicit FullBatch(double largest) : largest_(largest), latencies_(largest) {}

  /// Records that a batch, which was in flight beside others of the lane, waited for `queue`
  /// services. If there is no queue, the store's servers work in parallel, and smaller batches keep
  /// more of them busy.
  void Resize(double queue, double weight);
  /// Records that a batch was answered: one more may be in flight.
  void Open();
  /// Records that a batch failed: none may be in flight beyond Decision::window.
  void Close() { window_ = 0; }

  /// Returns the number of items. `latency`: of recent batches, in seconds. `alone`: 1 if this lane
  /// uses nearly all of the store's time, and 0 if not.
  [[nodiscard]] std::size_t Items(const StoreEstimate& store, double latency, double alone) const;
  [[nodiscard]] std::size_t window() const { return window_; }

  bool operator==(const FullBatch&) const = default;

 private:
  double largest_;
  double latencies_;  // cost of the items, in idle latencies
  std::size_t window_ = 0;
};

}  // namespace stout::inline v1
