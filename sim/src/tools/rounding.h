#pragma once

#include <fmt/format.h>

#include <string>

namespace stout::sim::internal {

/// Returns the nearest number with this number of significant decimal digits: short in a file, and
/// read back exactly.
inline double RoundedTo(int digits, double value) {
  return std::stod(fmt::format("{:.{}e}", value, digits - 1));
}

}  // namespace stout::sim::internal
