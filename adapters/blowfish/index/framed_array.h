#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blowfish/index/bits.h"

namespace stout::blowfish {

/// An array of numbers that are close to their neighbours: in frames of 64, each with its lowest
/// number, and what every number is above it in as many bits as the frame needs.
///
/// 64 numbers of w bits are w words of 8 bytes, so the places of two frames tell w.
///
/// Example: 7 9 8 10 are 7 and, 2 bits each, 0 2 1 3.
///
/// Space: w + 1 bits a number.   Cost: two cache misses.
/// Owner: none; the spans stay with the file.   Threads: any.
class FramedArray {
 public:
  static constexpr std::uint32_t kFrame = 64;

  /// As it is in the file. One more than there are frames: the last tells where the numbers end.
  struct Entry {
    std::uint32_t lowest;
    std::uint32_t place;  ///< In words of the numbers.
  };

  FramedArray() = default;
  /// `numbers` is followed by kBitPadding readable bytes.
  FramedArray(std::span<const Entry> entries, const std::byte* numbers)
      : entries_(entries), numbers_(numbers) {}

  /// Returns true if this number of numbers can be read of these, and are below `limit`. Otherwise
  /// no writer wrote them. `numbers` are without padding.   Cost: reads them all, a nanosecond
  /// each.
  [[nodiscard]] static bool IsReadable(std::span<const Entry> entries,
                                       std::span<const std::byte> numbers, std::uint64_t size,
                                       std::uint64_t limit);

  [[nodiscard]] std::uint32_t operator[](std::uint64_t index) const {
    const Entry& entry = entries_[index / kFrame];
    const int width = static_cast<int>((&entry)[1].place - entry.place);
    const std::byte* frame = numbers_ + std::uint64_t{entry.place} * 8;
    return entry.lowest +
           static_cast<std::uint32_t>(ReadBits(frame, index % kFrame * width, width));
  }

  void PrefetchEntry(std::uint64_t index) const { __builtin_prefetch(&entries_[index / kFrame]); }

  struct Parts {
    std::vector<Entry> entries;
    std::vector<std::byte> numbers;  ///< With kBitPadding.

    [[nodiscard]] FramedArray View() const { return {entries, numbers.data()}; }
  };
  [[nodiscard]] static Parts Build(std::span<const std::uint32_t> numbers);

 private:
  std::span<const Entry> entries_;
  const std::byte* numbers_ = nullptr;
};

}  // namespace stout::blowfish
