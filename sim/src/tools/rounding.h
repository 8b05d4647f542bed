#pragma once

#include <fmt/format.h>

#include <cstdlib>

namespace stout::sim::internal {

/// Returns the nearest number with this number of significant decimal digits: short in a file, and
/// read back exactly.
inline double RoundedTo(int digits, double value) {
  // std::stod would throw for a subnormal number.
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

}  // namespace stout::sim::internal
