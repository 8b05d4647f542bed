#pragma once

#include <cstdint>
#include <string>

#include "stout/core/policy/basic.h"
#include "stout/core/random.h"

namespace stout::sim::internal {

/// `fixed:T` of a server among others: it starts at a phase of its own, and its timer is not exact.
///
/// In a simulation all servers see their first change at nearly the same moment. Under an exact
/// interval their sends would stay together for ever, as a burst in each interval. No real fleet
/// does that, and the best interval would look worse than it is.
class Spaced {
 public:
  Spaced(Duration interval, std::uint64_t seed) : interval_(interval), random_(seed) {}

  [[nodiscard]] Decision Start() const {
    SplitMix64 random = random_;  // a copy: always the same start
    return Every(0.5 + random.Unit());
  }
  Decision Observe(const BatchSample& sample) {
    if (sample.spacing == Duration::zero()) return Start();  // the first: its spacing lies ahead
    return Every(1 + kJitter * (2 * random_.Unit() - 1));
  }
  [[nodiscard]] std::string Name() const { return Fixed{interval_}.Name(); }

 private:
  static constexpr double kJitter = 0.02;

  [[nodiscard]] Decision Every(double factor) const {
    const double count = static_cast<double>(interval_.count()) * factor;
    return {.interval = Duration(static_cast<Duration::rep>(count)),
            .window = Decision::kUnlimited};
  }

  Duration interval_;
  SplitMix64 random_;
};

}  // namespace stout::sim::internal
