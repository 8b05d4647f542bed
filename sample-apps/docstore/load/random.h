#pragma once

#include <cstdint>
#include <random>

#include "stout/core/random.h"

namespace stout::load {

/// The random choices of the load: the same seed gives the same load everywhere.
using Random = SplitMix64;

/// From the operating system, different each time.
inline std::uint64_t RandomRunId() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace stout::load
