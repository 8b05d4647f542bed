#pragma once

#include <cstdint>

#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The pause of a lane whose store is in trouble.
///
/// Batches that were in flight together fail together, for one reason. So a failure lengthens the
/// pause only if its batch was sent after the last one that did: else a store that sheds the load
/// of many batches at once would be left alone for the longest pause after one bad moment. (TCP
/// shrinks its window once per window for the same reason: NewReno, RFC 6582.)
///
/// Owner: a lane, which tells it of each batch's fate.   Threads: none of its own.
class HoldBack {
 public:
  explicit HoldBack(const Backoff& backoff) : backoff_(backoff) {}

  /// A batch has failed. `newest` is the last that was sent before now.
  void OnFailure(BatchId failed, BatchId newest, TimePoint now, SplitMix64& random);
  /// The store takes batches: the next pause is the first again. One under way goes on.
  void OnSuccess() { failures_ = 0; }
  /// Ends the pause.
  void Lift() { until_ = TimePoint::min(); }

  /// No batch is sent before.
  [[nodiscard]] TimePoint until() const { return until_; }

 private:
  Backoff backoff_;
  TimePoint until_ = TimePoint::min();
  BatchId newest_ = 0;          // when the pause began: older ones do not make it longer
  std::uint32_t failures_ = 0;  // that did, in a row
};

}  // namespace stout::internal
