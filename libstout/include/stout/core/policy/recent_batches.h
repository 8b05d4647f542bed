#pragma once

#include <limits>

namespace stout::inline v1 {

/// Means over the recent batches of a lane, and the newest values.   Units: seconds.
struct RecentBatches {
  double items = 1;
  /// The same if a lane that sends more often than its cycle kept to it. Equal for all lanes of one
  /// rate and cycle, whether they pause or not.
  double paced_items = 1;
  double latency = 0;         ///< from sent to answered; of the newest during the start
  double newest_latency = 0;  ///< of the newest batch alone
  double idle = 0;            ///< part of the latency: at an idle store
  double service = 0;         ///< part of the latency: the cost to the store
  /// Part of the newest batch's latency that an idle store does not explain. Infinite at first, so
  /// that the first delay counts.
  double newest_delay = std::numeric_limits<double>::infinity();
  double queue = 0;        ///< the smaller of two delays in a row
  double own_load = 0;     ///< share of the store's time for this lane
  double others_sync = 0;  ///< queueing of batches that are alone in flight, in idle latencies

  bool operator==(const RecentBatches&) const = default;
};

}  // namespace stout::inline v1
