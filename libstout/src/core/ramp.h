#pragma once

#include <algorithm>

namespace stout::internal {

/// A function of x that rises from 0 to 1 while x rises from `from` to `to`.
struct Ramp {
  double from;
  double to;
  double operator()(double x) const { return std::clamp((x - from) / (to - from), 0.0, 1.0); }
};

}  // namespace stout::internal
