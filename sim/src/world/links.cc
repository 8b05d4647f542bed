#include "world/links.h"

#include <algorithm>

#include "world/units.h"

namespace stout::sim::internal {

Links::Links(const StoreSpec& spec, Random random)
    : half_rtt_(Microseconds(spec.rtt_us / 2)),
      jitter_ns_(spec.jitter_us * kNsPerUs),
      reorders_(spec.jitter_reorders),
      random_(random) {}

TimePoint Links::Arrival(std::uint32_t client, TimePoint now) {
  if (jitter_ns_ == 0) return now + half_rtt_;
  const auto drawn = [&] {
    return now + half_rtt_ + Nanoseconds(jitter_ns_ * random_.Exponential());
  };
  if (reorders_) return drawn();
  if (client >= last_.size()) last_.resize(client + 1);
  Last& last = last_[client];
  if (last.sent != now) last = {.sent = now, .arrival = std::max(last.arrival, drawn())};
  return last.arrival;
}

}  // namespace stout::sim::internal
