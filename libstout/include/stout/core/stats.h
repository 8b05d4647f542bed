#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/histogram.h"
#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// Counters and the present state of a lane. Counters never decrease. Histograms of times are in
/// nanoseconds. A snapshot is taken between two inputs, so its figures agree with each other.
struct LaneStats {
  // Offered.
  std::uint64_t keys_marked = 0;        ///< MarkDirty calls that were taken
  std::uint64_t marks_pushed_back = 0;  ///< MarkDirty calls that reached a limit
  // Sent.
  std::uint64_t batches_sent = 0;  ///< attempts, retries included
  std::uint64_t writes_sent = 0;   ///< items in these attempts
  std::uint64_t bytes_sent = 0;
  // Answered.
  std::uint64_t writes_done = 0;  ///< items that became durable
  std::uint64_t retries = 0;      ///< items that must be sent again
  std::uint64_t writes_refused = 0;
  std::uint64_t batches_failed = 0;  ///< attempts that failed as a whole
  std::uint64_t attempts_timed_out = 0;
  std::uint64_t late_answers = 0;  ///< answers after the timeout, which are ignored
  // Reads.
  std::uint64_t fetches = 0;
  std::uint64_t fetches_joined = 0;  ///< served by a read that another fetch had begun
  std::uint64_t fetches_local = 0;   ///< served from the application's uncommitted state
  std::uint64_t read_batches_sent = 0;
  std::uint64_t reads_sent = 0;
  // Now.
  std::size_t dirty_keys = 0;  ///< not yet durable, in flight included
  std::size_t dirty_bytes = 0;
  std::size_t batches_in_flight = 0;
  Duration interval{};  ///< of the write policy's newest decision, as are the next five fields
  Duration gap{};
  Duration tick{};
  std::size_t window = 0;
  Regime regime = Regime::kNone;
  Reason reason = Reason::kNone;
  /// Number of decisions of the write policy, by Reason. Each attempt that it observes is one.
  std::array<std::uint64_t, kReasons> decisions_by_reason{};
  bool fenced = false;
  std::string policy;

  Histogram batch_items;    ///< items per write batch sent
  Histogram store_latency;  ///< from sent to answered, per attempt
  Histogram wait;           ///< from the first unsent change of a key to the send of its batch

  /// Changes per write: 1 if nothing collapsed, 10 if ten changes cost one write.
  [[nodiscard]] double CollapseRatio() const {
    return writes_done == 0 ? 1
                            : static_cast<double>(keys_marked) / static_cast<double>(writes_done);
  }
};

struct EngineStats {
  std::vector<LaneStats> lanes;
  bool lost = false;                 ///< the store answered kLost: nothing is sent any more
  std::uint64_t replies = 0;         ///< SafeReply calls that were taken
  std::uint64_t replies_failed = 0;  ///< replies that ran with an error
  std::size_t replies_held = 0;      ///< replies that wait now
  Histogram reply_latency;           ///< from SafeReply to the run of the reply
  Duration dirty_age{};  ///< about that of the oldest change that is not durable; by Interposer

  /// Returns the number of keys that are not yet durable.
  [[nodiscard]] std::size_t DirtyKeys() const {
    std::size_t keys = 0;
    for (const LaneStats& lane : lanes) keys += lane.dirty_keys;
    return keys;
  }
};

}  // namespace stout::inline v1
