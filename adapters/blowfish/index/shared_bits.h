#pragma once

#include <algorithm>
#include <array>
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

/// Returns the words that this number of bits takes, without the one that follows.
[[nodiscard]] constexpr std::size_t WordsOf(std::uint64_t bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

[[nodiscard]] inline std::uint64_t LoadShared(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_relaxed);
}

/// Two loads rather than a branch on whether the number ends in the next word, which would be
/// mispredicted every other time. Both are mostly of one cache line.
[[nodiscard]] inline std::uint64_t ReadShared(std::uint64_t* words, std::uint64_t bit, int width) {
  std::uint64_t* const at = words + bit / kWordBits;
  const int shift = bit % kWordBits;
  const std::uint64_t low = LoadShared(at) >> shift;
  const std::uint64_t high = LoadShared(at + 1) << 1 << (kWordBits - 1 - shift);
  return LowBits(low | high, width);
}

/// Reads numbers that lie one behind the other, from the one that begins at `bit`. Each word is
/// read once. Then up to 64 numbers are unpacked from memory that no other thread writes, in half
/// the time.
template <typename Number>
void ReadShared(std::uint64_t* words, std::uint64_t bit, int width, std::span<Number> out) {
  // The first number begins within the first word; LoadWord looks beyond the last.
  std::array<std::uint64_t, kMaxBitWidth + 2> copy;
  while (!out.empty()) {
    const auto part = out.first(std::min<std::size_t>(out.size(), kWordBits));
    std::uint64_t* const at = words + bit / kWordBits;
    std::uint64_t from = bit % kWordBits;
    const std::size_t size = WordsOf(from + part.size() * width);
    for (std::size_t i = 0; i < size; ++i) copy[i] = LoadShared(at + i);
    copy[size] = 0;
    for (Number& number : part) {
      number = static_cast<Number>(
          ReadBits(reinterpret_cast<const std::byte*>(copy.data()), from, width));
      from += width;
    }
    bit += part.size() * width;
    out = out.subspan(part.size());
  }
}

/// Sets the one-bits of `value`, which has no more than `width`, where there were zeros or the same
/// number. Neighbours in the same words keep their bits, even if another thread sets them
/// meanwhile.
inline void SetShared(std::uint64_t* words, std::uint64_t bit, int width, std::uint64_t value) {
  std::uint64_t* const at = words + bit / kWordBits;
  const int shift = bit % kWordBits;
  std::atomic_ref(at[0]).fetch_or(value << shift, std::memory_order_relaxed);
  if (shift + width > kWordBits) {
    std::atomic_ref(at[1]).fetch_or(value >> (kWordBits - shift), std::memory_order_relaxed);
  }
}

}  // namespace stout::blowfish
