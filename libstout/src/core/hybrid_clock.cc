#include "stout/core/hybrid_clock.h"

#include <chrono>

namespace stout::internal {

std::uint64_t HybridClock::MicrosOf(TimePoint unix_time) {
  const auto time = std::chrono::floor<std::chrono::microseconds>(unix_time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
}

std::optional<Version> HybridClock::Next(TimePoint unix_time, TimePoint steady_time) {
  if (steady_time > reservation_.end) return std::nullopt;
  const std::uint64_t next = std::max({MicrosOf(unix_time), newest_ + 1, reservation_.from + 1});
  if (next > reservation_.until) return std::nullopt;
  newest_ = next;
  return next << kNumberBits | reservation_.number;
}

}  // namespace stout::internal
