#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bits.h"

namespace stout::blowfish {

// Packed numbers that threads read and write at once: in 64-bit words, the lowest bit first, each
// number where ReadBits would look for it. All accesses are atomic and relaxed; order is the
// caller's. The word where a number begins is readable, even if it has no bits, and so is the next.

inline constexpr int kWordBits = 64;

/// Words that so many bits take, without the one that follows.
[[nodiscard]] constexpr std::size_t WordsOf(std::uint64_t bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

[[nodiscard]] inline std::uint64_t LoadShared(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_relaxed);
}

/// Two loads rather than a branch on whether the number ends in the next word, which would be
/// mispredicted every other time; both are mostly of one cache line.
[[nodiscard]] inline std::uint64_t ReadShared(std::uint64_t* words, std::uint64_t bit, int width) {
  std::uint64_t* const at = words + bit / kWordBits;
  const int shift = bit % kWordBits;
  const std::uint64_t low = LoadShared(at) >> shift;
  const std::uint64_t high = LoadShared(at + 1) << 1 << (kWordBits - 1 - shift);
  return LowBits(low | high, width);
}

/// Numbers that lie one behind the other, from the one that begins at `bit`.
template <typename Number>
void ReadShared(std::uint64_t* words, std::uint64_t bit, int width, std::span<Number> out) {
  for (Number& number : out) {
    number = static_cast<Number>(ReadShared(words, bit, width));
    bit += width;
  }
}

/// Sets the one-bits of `value`, which has no more than `width`, where there were zeros or the same
/// number. Neighbours in the same words keep their bits, whoever sets them meanwhile.
inline void SetShared(std::uint64_t* words, std::uint64_t bit, int width, std::uint64_t value) {
  std::uint64_t* const at = words + bit / kWordBits;
  const int shift = bit % kWordBits;
  std::atomic_ref(at[0]).fetch_or(value << shift, std::memory_order_relaxed);
  if (shift + width > kWordBits) {
    std::atomic_ref(at[1]).fetch_or(value >> (kWordBits - shift), std::memory_order_relaxed);
  }
}

}  // namespace stout::blowfish
