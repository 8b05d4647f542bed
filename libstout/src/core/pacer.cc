#include "stout/core/pacer.h"

#include <algorithm>

namespace stout::internal {

TimePoint Pacer::NextSend(const Decision& decision, TimePoint ready) const {
  TimePoint allowed = SaturatingAdd(last_send_, decision.interval);
  if (decision.gap > Duration::zero()) {
    allowed = std::max(allowed, SaturatingAdd(last_answer_, decision.gap));
  }
  if (decision.tick <= Duration::zero()) return allowed;
  const TimePoint after_last = SaturatingAdd(last_send_, Duration(1));
  return FirstTick(std::max({ready, open_since_, allowed, after_last}), decision.tick);
}

TimePoint Pacer::FirstTick(TimePoint from, Duration tick) const {
  if (from > kNever - tick) return kNever;
  const auto length = static_cast<std::uint64_t>(tick.count());
  const auto offset =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(random_) * length) >> 64);
  const Duration past =
      (from.time_since_epoch() - Duration(static_cast<Duration::rep>(offset))) % tick;
  return past > Duration::zero() ? from + (tick - past)
                                 : from - past;  // past < 0: before the first
}

}  // namespace stout::internal
