#pragma once

#include <chrono>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// Returns the present time of the steady clock, by which the library measures how long things
/// take. Threads: any.
[[nodiscard]] inline TimePoint SteadyNow() {
  return TimePoint(std::chrono::steady_clock::now().time_since_epoch());
}

/// Returns the present Unix time in whole microseconds. Epochs, versions and the records of a
/// registry have no finer time.   Threads: any.
[[nodiscard]] inline TimePoint UnixTime() {
  return TimePoint(std::chrono::floor<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace stout::inline v1
