#pragma once

#include <cstdint>
#include <cstring>

#include "stout/core/types.h"

namespace stout::internal {

/// The hash of a key in the core's tables; it never leaves the process.
///
/// Folded multiplication (as in wyhash): eight bytes a step, the product's halves mixed. For the
/// short keys of a dirty table it takes a quarter of the instructions of std::hash.
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
  // The last eight bytes again overlap what was read, which costs no branch per length.
  const std::uint64_t tail = key.size() >= 8 ? load(p + left - 8, 8) : left > 0 ? load(p, left) : 0;
  hash = fold(hash ^ tail, kFirst);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace stout::internal
