#pragma once

#include <cstddef>

#include "stout/core/policy/store_estimate.h"

namespace stout::inline v1 {

/// The size of a full batch, which is sent at once, and the number of them that may be in flight.
/// The fixed cost of such a batch hardly counts, so a larger one would save little.
///
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class FullBatch {
 public:
  /// `largest`: cost of the items of the largest full batch, in idle latencies.
  explicit FullBatch(double largest) : largest_(largest), latencies_(largest) {}

  /// A batch was served beside others of the lane, and waited for `queue` services. Without a
  /// queue, servers work in parallel, and smaller batches keep more of them busy.
  void Resize(double queue, double weight);
  /// A batch was answered: one more may be in flight.
  void Open();
  /// A batch failed: none may be in flight beyond Decision::window.
  void Close() { window_ = 0; }

  /// Returns the number of items. `latency` is that of recent batches in seconds; `alone` is 1 if
  /// nearly all of the store's time is this lane's, and 0 if not.
  [[nodiscard]] std::size_t Items(const StoreEstimate& store, double latency, double alone) const;
  [[nodiscard]] std::size_t window() const { return window_; }

  bool operator==(const FullBatch&) const = default;

 private:
  double largest_;
  double latencies_;  // cost of the items, in idle latencies
  std::size_t window_ = 0;
};

}  // namespace stout::inline v1
