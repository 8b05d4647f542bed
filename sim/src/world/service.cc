#include "world/service.h"

#include <algorithm>
#include <cmath>

#include "world/units.h"

namespace stout::sim::internal {

Service::Service(const StoreSpec& spec, TimePoint from, TimePoint to, Random noise, Random slow)
    : per_batch_ns_(spec.per_batch_us * kNsPerUs),
      per_item_ns_(spec.per_item_us * kNsPerUs),
      sigma_(spec.noise_sigma),
      slow_share_(spec.slow_share),
      slow_factor_(spec.slow_factor),
      from_(from),
      to_(to),
      noise_(noise),
      slow_(slow) {}

TimePoint Service::Begin(double cost_ns, TimePoint now) {
  const TimePoint begin = std::max(now, paused_until_);
  const TimePoint end = End(cost_ns, now);
  busy_ += std::max(Duration::zero(), std::min(end, to_) - std::max(begin, from_));
  return end;
}

TimePoint Service::End(double cost_ns, TimePoint now) {
  return std::max(now, paused_until_) + Nanoseconds(cost_ns * Noise() * Tail() / speed_);
}

// exp(N(-s^2/2, s^2)) has mean 1.
double Service::Noise() {
  if (sigma_ == 0) return 1;
  return std::exp(sigma_ * noise_.Normal() - sigma_ * sigma_ / 2);
}

double Service::Tail() {
  if (slow_share_ == 0) return 1;
  const double mean = 1 - slow_share_ + slow_share_ * slow_factor_;
  return (slow_.Unit() < slow_share_ ? slow_factor_ : 1) / mean;
}

}  // namespace stout::sim::internal
