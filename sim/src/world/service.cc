#include "world/service.h"

#include <algorithm>
#include <cmath>

#include "world/units.h"

namespace stout::sim::internal {

Service::Service(const StoreSpec& spec, TimePoint from, TimePoint to, Random random)
    : per_batch_ns_(spec.per_batch_us * kNsPerUs),
      per_item_ns_(spec.per_item_us * kNsPerUs),
      sigma_(spec.noise_sigma),
      from_(from),
      to_(to),
      random_(random) {}

TimePoint Service::Begin(double cost_ns, TimePoint now) {
  const TimePoint begin = std::max(now, paused_until_);
  const TimePoint end = begin + Nanoseconds(cost_ns * Noise() / speed_);
  busy_ += std::max(Duration::zero(), std::min(end, to_) - std::max(begin, from_));
  return end;
}

// exp(N(-s^2/2, s^2)) has mean 1.
double Service::Noise() {
  if (sigma_ == 0) return 1;
  return std::exp(sigma_ * random_.Normal() - sigma_ * sigma_ / 2);
}

}  // namespace stout::sim::internal
