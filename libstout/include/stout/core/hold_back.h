#pragma once

#include <cstdint>

#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The pause of a lane whose store is in trouble.
///
/// Batches that are in flight together fail together, for one reason. A failure therefore lengthens
/// the pause only if its batch was sent after the last failure that lengthened it. Otherwise one
/// overload that fails many batches would cause the longest pause. (TCP shrinks its congestion
/// window at most once per window for the same reason: NewReno, RFC 6582.)
///
/// Owner: a lane, which reports each batch's outcome.   Threads: none of its own.
class HoldBack {
 public:
  explicit HoldBack(const Backoff& backoff) : backoff_(backoff) {}

  /// Records that a batch has failed. `newest`: the last batch that was sent before now.
  void OnFailure(BatchId failed, BatchId newest, TimePoint now, SplitMix64& random);
  /// Records that the store takes batches again. The next pause is then the shortest. A pause that
  /// is under way goes on.
  void OnSuccess() { failures_ = 0; }
  /// Ends the pause.
  void Lift() { until_ = TimePoint::min(); }

  /// Returns the end of the pause: no batch may be sent before it.
  [[nodiscard]] TimePoint until() const { return until_; }

 private:
  Backoff backoff_;
  TimePoint until_ = TimePoint::min();
  BatchId newest_ = 0;          // newest batch when the pause began: older ones do not lengthen it
  std::uint32_t failures_ = 0;  // failures in a row that lengthened it
};

}  // namespace stout::internal
