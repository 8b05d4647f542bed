#include "policies/opponents/fdb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stout::bench {

Decision Fdb::Observe(const BatchSample& sample) {
  if (sample.errc == Errc::kOk) {
    const double target = fraction * static_cast<double>(sample.latency().count());
    const double smoothed =
        kSmoother * target + (1 - kSmoother) * static_cast<double>(interval.count());
    interval = std::clamp(Duration(std::llround(smoothed)), kMin, kMax);
  }
  return Start();
}

std::string Fdb::Name() const {
  return fraction == kShippedFraction ? "fdb" : fmt::format("fdb:{}", fraction);
}

}  // namespace stout::bench
