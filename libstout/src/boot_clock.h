#pragma once

#include <ctime>

#include "stout/core/types.h"

namespace stout::internal {

// A clock that never steps and counts the time that the machine is suspended, too.
inline TimePoint BootNow() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace stout::internal
