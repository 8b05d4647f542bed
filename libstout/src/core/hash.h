#pragma once

#include <cstdint>
#include <functional>

#include "stout/core/types.h"

namespace stout::internal {

/// The hash of a key in the core's tables. It never leaves the process.
inline std::uint32_t HashOf(KeyView key) {
  const std::size_t hash = std::hash<KeyView>{}(key);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace stout::internal
