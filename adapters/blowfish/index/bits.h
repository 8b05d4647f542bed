#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace stout::blowfish {

static_assert(std::endian::native == std::endian::little, "files are little-endian, read in place");

/// Readers look at 8 bytes at a time: 8 readable bytes must follow the last bit that they read.
inline constexpr std::size_t kBitPadding = 8;

/// The widest number that ReadBits gives: 8 bytes less the 7 bits that it may start within.
inline constexpr int kMaxBitWidth = 57;

/// How many bits `value` needs; 0 for 0.
[[nodiscard]] constexpr int BitWidth(std::uint64_t value) { return std::bit_width(value); }

/// The `width` lowest bits; width < 64.
[[nodiscard]] constexpr std::uint64_t LowBits(std::uint64_t value, int width) {
  return value & ((std::uint64_t{1} << width) - 1);
}

[[nodiscard]] inline std::uint64_t LoadWord(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// The number in bits [bit, bit + width) of `data`, the lowest bit first; width <= kMaxBitWidth.
[[nodiscard]] inline std::uint64_t ReadBits(const std::byte* data, std::uint64_t bit, int width) {
  return LowBits(LoadWord(data + bit / 8) >> (bit % 8), width);
}

/// Sets the number that ReadBits gives; its bits are 0 before. 8 writable bytes follow the last
/// bit. `value` has at most `width` bits.
inline void SetBits(std::byte* data, std::uint64_t bit, int width, std::uint64_t value) {
  std::byte* const at = data + bit / 8;
  const std::uint64_t word = LoadWord(at) | LowBits(value, width) << (bit % 8);
  std::memcpy(at, &word, sizeof word);
}

inline constexpr int kWordBits = 64;

/// How many 64-bit words this number of bits takes.
[[nodiscard]] constexpr std::size_t WordsOf(std::uint64_t bits) {
  return (bits + kWordBits - 1) / kWordBits;
}

/// Appends numbers, the lowest bit first.
class BitWriter {
 public:
  void Put(std::uint64_t value, int width);  ///< width <= 64; bits above it must be 0.
  void Align();                              ///< To the next byte, with zeros.

  [[nodiscard]] std::uint64_t bits() const { return bits_; }

  /// Returns the written bits, without padding. Leaves the writer empty.
  [[nodiscard]] std::vector<std::byte> Take();

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t bits_ = 0;
};

/// Bytes that packed numbers of one width take, without padding.
[[nodiscard]] constexpr std::uint64_t PackedBytes(std::uint64_t size, int width) {
  return (size * width + 7) / 8;
}

/// An array of `width`-bit numbers, read in place. It owns nothing.
///
/// Space: width bits a number.   Cost: one load, mostly of one cache line.
class PackedArray {
 public:
  PackedArray() = default;
  /// `data` is followed by kBitPadding readable bytes.
  PackedArray(const std::byte* data, int width) : data_(data), width_(width) {}

  [[nodiscard]] std::uint64_t operator[](std::uint64_t index) const {
    return ReadBits(data_, index * width_, width_);
  }
  [[nodiscard]] int width() const { return width_; }

  void Prefetch(std::uint64_t index) const { __builtin_prefetch(data_ + index * width_ / 8); }

 private:
  const std::byte* data_ = nullptr;
  int width_ = 0;
};

}  // namespace stout::blowfish
