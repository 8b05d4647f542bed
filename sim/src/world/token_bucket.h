#pragma once

#include <algorithm>

#include "stout/core/types.h"
#include "world/units.h"

namespace stout::sim::internal {

/// Tokens come at a steady rate, and are kept up to a limit. It begins full.
///
/// A batch passes if there is any token, and may leave a debt; nothing passes until that is paid.
/// So a batch that costs more than the bucket holds passes too, and in the long run no more is
/// taken than comes.
class TokenBucket {
 public:
  /// `per_s` 0: all pass. `burst` 0: what comes in a second.
  TokenBucket(double per_s, double burst)
      : per_s_(per_s), burst_(burst > 0 ? burst : per_s), level_(burst_) {}

  [[nodiscard]] bool Take(double tokens, TimePoint now) {
    if (per_s_ == 0) return true;
    level_ = std::min(burst_, level_ + per_s_ * ToSeconds(now - filled_));
    filled_ = now;
    if (level_ <= 0) return false;
    level_ -= tokens;
    return true;
  }

 private:
  double per_s_;
  double burst_;
  double level_;
  TimePoint filled_{};
};

}  // namespace stout::sim::internal
