#include "policies/opponents/gradient2.h"

#include <algorithm>

namespace stout::bench {

Decision Gradient2::Observe(const BatchSample& sample) {
  const auto latency = static_cast<double>(sample.latency().count());
  if (latency <= 0) return Start();
  RecordLatency(latency);
  // The gradient is of the average before this correction.
  const double ratio = long_rtt / latency;
  if (ratio > 2) long_rtt *= 0.95;
  if (static_cast<double>(sample.in_flight) < limit / 2) return Start();
  const double gradient = std::clamp(kTolerance * ratio, 0.5, 1.0);
  limit = (1 - kSmoothing) * limit + kSmoothing * (gradient * limit + kHeadroom);
  limit = std::clamp(limit, kMin, kMax);
  return Start();
}

void Gradient2::RecordLatency(double latency) {
  if (warm_up < kWarmUp) {
    long_rtt += (latency - long_rtt) / ++warm_up;
  } else {
    long_rtt += (latency - long_rtt) * 2 / (kLongWindow + 1);
  }
}

}  // namespace stout::bench
