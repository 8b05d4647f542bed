#pragma once

#include <cstdint>

namespace stout::resp {

/// Memory and CPU time of the process, as the kernel counts them.
struct ProcessUsage {
  std::uint64_t resident_bytes = 0;
  double user_seconds = 0;    ///< CPU time of all threads in the program
  double system_seconds = 0;  ///< and in the kernel

  [[nodiscard]] static ProcessUsage Now();
};

}  // namespace stout::resp
