#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// What a lane has done and what it holds. Counters never decrease; histograms of times are in
/// nanoseconds. Taken between two inputs, so the figures of one snapshot agree with each other.
struct LaneStats {
  // Offered.
  std::uint64_t keys_marked = 0;        ///< MarkDirty calls that were taken.
  std::uint64_t marks_pushed_back = 0;  ///< MarkDirty calls that met a limit.
  // Sent.
  std::uint64_t batches_sent = 0;  ///< Attempts, retries included.
  std::uint64_t writes_sent = 0;   ///< Items in them.
  std::uint64_t bytes_sent = 0;
  // Answered.
  std::uint64_t writes_done = 0;  ///< Items that became durable.
  std::uint64_t retries = 0;      ///< Items that must be sent again.
  std::uint64_t writes_refused = 0;
  std::uint64_t batches_failed = 0;  ///< Attempts of which nothing was done.
  std::uint64_t attempts_timed_out = 0;
  std::uint64_t late_answers = 0;  ///< Answers after the time-out: ignored.
  // Reads.
  std::uint64_t fetches = 0;
  std::uint64_t fetches_joined = 0;  ///< Served by a read that another fetch had begun.
  std::uint64_t fetches_local = 0;   ///< Served from the application's uncommitted state.
  std::uint64_t read_batches_sent = 0;
  std::uint64_t reads_sent = 0;
  // Now.
  std::size_t dirty_keys = 0;  ///< Not yet durable, in flight included.
  std::size_t dirty_bytes = 0;
  std::size_t batches_in_flight = 0;
  Duration interval{};  ///< The policy's newest decision, as are the three that follow.
  Duration gap{};
  Duration tick{};
  std::size_t window = 0;
  bool fenced = false;
  std::string policy;

  Histogram batch_items;    ///< Items per write batch sent.
  Histogram store_latency;  ///< Sent to answered, per attempt.
  Histogram wait;           ///< First unsent change of a key to the sending of its batch.

  /// Changes per write: 1 where nothing collapsed, 10 where ten changes cost one write.
  [[nodiscard]] double CollapseRatio() const {
    return writes_done == 0 ? 1
                            : static_cast<double>(keys_marked) / static_cast<double>(writes_done);
  }
};

struct EngineStats {
  std::vector<LaneStats> lanes;
  std::uint64_t replies = 0;         ///< SafeReply calls that were taken.
  std::uint64_t replies_failed = 0;  ///< Run with an error.
  std::size_t replies_held = 0;      ///< Waiting now.
  Histogram reply_latency;           ///< SafeReply to the running of the reply.
};

}  // namespace stout::inline v1
