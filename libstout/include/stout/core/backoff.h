#pragma once

#include <cstdint>

#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// Capped exponential back-off with jitter. The n-th pause is uniform in [m / 2, m] with
/// m = min(cap, first * 2^(n-1)). The jitter spreads out servers that failed together.
struct Backoff {
  Duration first;
  Duration cap;

  /// Requires failures >= 1 and first <= cap.
  [[nodiscard]] Duration Pause(std::uint32_t failures, SplitMix64& random) const {
    Duration pause = first;
    for (std::uint32_t i = 1; i < failures && pause < cap; ++i) {
      pause = pause > cap / 2 ? cap : 2 * pause;  // without overflow
    }
    const auto half = static_cast<std::uint64_t>(pause.count()) / 2;
    return pause - Duration(static_cast<Duration::rep>(random.Below(half + 1)));
  }
};

}  // namespace stout::inline v1
