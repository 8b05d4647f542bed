#pragma once

#include <limits>

namespace stout::inline v1 {

/// Means over the recent batches of a lane, and the newest values.   Units: seconds.
struct RecentBatches {
  double items = 1;
  /// The number of items if a lane that sends more often than its cycle kept to the cycle. It is
  /// equal for all lanes with the same rate and cycle, whether they pause or not.
  double paced_items = 1;
  double latency = 0;         ///< from sent to answered; during the start, of the newest batch
  double newest_latency = 0;  ///< of the newest batch alone
  double idle = 0;            ///< part of the latency: that of an idle store
  double service = 0;         ///< part of the latency: the cost to the store
  /// Part of the newest batch's latency beyond that of an idle store. Infinite at first, so that
  /// the first delay counts.
  double newest_delay = std::numeric_limits<double>::infinity();
  double queue = 0;        ///< the smaller of two delays in a row
  double own_load = 0;     ///< share of the store's time that this lane uses
  double others_sync = 0;  ///< queueing of batches that are alone in flight, in idle latencies

  bool operator==(const RecentBatches&) const = default;
};

}  // namespace stout::inline v1
