#pragma once

#include <ctime>

#include "stout/core/types.h"

namespace stout::internal {

// Returns the time of a clock that never steps, and that also runs while the machine is suspended.
inline TimePoint BootNow() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace stout::internal
