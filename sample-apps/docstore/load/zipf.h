#pragma once

#include <cstdint>

#include "load/random.h"

namespace stout::load {

/// Draws ranks 0..n-1 with probability proportional to 1 / (rank + 1)^theta.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", 1996). It is exact for every theta > 0, theta = 1 included. It
/// needs no table and no sum over n, so ten million documents cost the same as ten. A draw takes
/// 1.0 to 1.1 tries.
///
/// Owner: value type.   Threads: none of its own.
class Zipf {
 public:
  /// Requires n > 0 and theta > 0.
  Zipf(std::uint32_t n, double theta);

  std::uint32_t Draw(Random& random) const;

 private:
  /// The density x^-theta, its integral from 1 and the inverse of that integral.
  double Density(double x) const;
  double Integral(double x) const;
  double IntegralInverse(double y) const;

  double n_;
  double theta_;
  double area_begin_;     // Integral(1.5) - 1: the first rank gets its whole probability.
  double area_end_;       // Integral(n + 0.5)
  double always_within_;  // A draw this close below its rank needs no second test.
};

}  // namespace stout::load
