#pragma once

#include <cstdint>
#include <cstring>

#include "stout/core/types.h"

namespace stout::internal {

/// Returns the hash of a key for the core's tables. It never leaves the process.
///
/// Folded multiplication, as in wyhash: it takes eight bytes per step and mixes the halves of the
/// product. For short keys it needs a quarter of the instructions of std::hash.
inline std::uint32_t HashOf(KeyView key) {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;
  constexpr std::uint64_t kSecond = 0xbf58476d1ce4e5b9;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const auto load = [](const char* p, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, bytes);
    return word;
  };
  const char* p = key.data();
  std::size_t left = key.size();
  std::uint64_t hash = left ^ kFirst;
  for (; left > 8; p += 8, left -= 8) hash = fold(hash ^ load(p, 8), kSecond);
  // The last eight bytes may overlap bytes that were read before. This avoids a branch per length.
  const std::uint64_t tail = key.size() >= 8 ? load(p + left - 8, 8) : left > 0 ? load(p, left) : 0;
  hash = fold(hash ^ tail, kFirst);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace stout::internal
