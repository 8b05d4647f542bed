#pragma once

#include <chrono>

#include "stout/core/types.h"

namespace stout::resp {

/// The steady clock's time, as the library has it.
[[nodiscard]] inline TimePoint Now() {
  return TimePoint(std::chrono::steady_clock::now().time_since_epoch());
}

/// Unix time.
[[nodiscard]] inline TimePoint UnixTime() {
  return TimePoint(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace stout::resp
