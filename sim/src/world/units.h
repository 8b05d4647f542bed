#pragma once

#include <algorithm>
#include <cmath>

#include "stout/core/types.h"

namespace stout::sim::internal {

// Scenarios are written in seconds, milliseconds and microseconds; a world runs in nanoseconds.

/// When a world begins.
constexpr TimePoint kStart{};

constexpr double kNsPerUs = 1e3;
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;

/// To the nearest nanosecond, and at most a century: later than every run ends, and the sum of two
/// does not overflow.
inline Duration Nanoseconds(double ns) {
  constexpr double kCentury = 100.0 * 366 * 24 * 3600 * kNsPerS;
  return Duration(std::llround(std::clamp(ns, -kCentury, kCentury)));
}
inline Duration Seconds(double s) { return Nanoseconds(s * kNsPerS); }
inline Duration Milliseconds(double ms) { return Nanoseconds(ms * kNsPerMs); }
inline Duration Microseconds(double us) { return Nanoseconds(us * kNsPerUs); }

inline double ToSeconds(Duration d) { return static_cast<double>(d.count()) / kNsPerS; }

}  // namespace stout::sim::internal
