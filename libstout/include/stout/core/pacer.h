#pragma once

#include <cstdint>

#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::internal {

/// Computes when a lane may send next, from Decision's interval, gap and tick.
///
/// Owner: a lane, which reports each send and answer.   Threads: none of its own.
class Pacer {
 public:
  /// `random`: uniform over its type. It determines the lane's offset of ticks.
  explicit Pacer(std::uint64_t random) : random_(random) {}

  void OnSend(TimePoint now) { last_send_ = now; }
  void OnAnswer(TimePoint now) { last_answer_ = now; }
  /// Call it when the lane may send again after it was held back by anything except interval, gap
  /// and tick. A tick that has passed by then was missed.
  void OnReopen(TimePoint now) { open_since_ = now; }

  /// Returns the earliest send time of a change that has waited since `ready`.
  [[nodiscard]] TimePoint NextSend(const Decision& decision, TimePoint ready) const;

  /// Returns the time since the last send, or zero before the first.
  [[nodiscard]] Duration SinceLastSend(TimePoint now) const {
    return last_send_ == TimePoint::min() ? Duration::zero() : now - last_send_;
  }

 private:
  [[nodiscard]] TimePoint FirstTick(TimePoint from, Duration tick) const;

  std::uint64_t random_;
  TimePoint last_send_ = TimePoint::min();
  TimePoint last_answer_ = TimePoint::min();
  TimePoint open_since_ = TimePoint::min();
};

}  // namespace stout::internal
