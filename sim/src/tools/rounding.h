#pragma once

#include <fmt/format.h>

#include <string>

namespace stout::sim::internal {

/// The number of so many significant decimal digits that is nearest: short in a file, and read back
/// exactly.
inline double RoundedTo(int digits, double value) {
  return std::stod(fmt::format("{:.{}e}", value, digits - 1));
}

}  // namespace stout::sim::internal
