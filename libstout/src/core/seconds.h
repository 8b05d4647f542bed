#pragma once

#include <algorithm>

#include "stout/core/types.h"

namespace stout::internal {

inline double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

inline Duration FromSeconds(double seconds) {
  return Duration(static_cast<Duration::rep>(std::max(0.0, seconds) * 1e9));
}

}  // namespace stout::internal
