#pragma once

#include <cstdint>

#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::internal {

/// When a lane may send next: the rules of Decision's interval, gap and tick.
///
/// Owner: a lane, which tells it of each send and answer.   Threads: none of its own.
class Pacer {
 public:
  /// `random` is uniform over its type: the lane's offset of ticks follows from it.
  explicit Pacer(std::uint64_t random) : random_(random) {}

  void OnSend(TimePoint now) { last_send_ = now; }
  void OnAnswer(TimePoint now) { last_answer_ = now; }
  /// What held the lane back, other than interval, gap and tick, does so no longer. A tick that
  /// has passed by then was missed.
  void OnReopen(TimePoint now) { open_since_ = now; }

  /// The first time at which a change that is there since `ready` may go.
  [[nodiscard]] TimePoint NextSend(const Decision& decision, TimePoint ready) const;

  /// Zero before the first send.
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
