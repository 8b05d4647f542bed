#include "load/zipf.h"

#include <algorithm>
#include <cmath>

namespace stout::load {
namespace {

// expm1(x) / x and log1p(x) / x, continued through x = 0: theta = 1 is no special case.
double Expm1Over(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}
double Log1pOver(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x / 3);
}

}  // namespace

Zipf::Zipf(std::uint32_t n, double theta) : n_(n), theta_(theta) {
  area_begin_ = Integral(1.5) - 1;
  area_end_ = Integral(n_ + 0.5);
  always_within_ = 2 - IntegralInverse(Integral(2.5) - Density(2));
}

double Zipf::Density(double x) const { return std::exp(-theta_ * std::log(x)); }

double Zipf::Integral(double x) const {
  const double log_x = std::log(x);
  return Expm1Over((1 - theta_) * log_x) * log_x;
}

double Zipf::IntegralInverse(double y) const {
  // Rounding may carry the product just below -1, where the logarithm ends.
  const double t = std::max(y * (1 - theta_), -1.0);
  return std::exp(Log1pOver(t) * y);
}

std::uint32_t Zipf::Draw(Random& random) const {
  while (true) {
    const double u = area_end_ + random.Unit() * (area_begin_ - area_end_);
    const double x = IntegralInverse(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (k - x <= always_within_ || u >= Integral(k + 0.5) - Density(k)) {
      return static_cast<std::uint32_t>(k) - 1;
    }
  }
}

}  // namespace stout::load
