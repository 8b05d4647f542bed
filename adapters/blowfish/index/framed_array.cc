#include "blowfish/index/framed_array.h"

#include <algorithm>

namespace stout::blowfish {

bool FramedArray::IsReadable(std::span<const Entry> entries, std::span<const std::byte> numbers,
                             std::uint64_t size, std::uint64_t limit) {
  if (entries.size() != (size + kFrame - 1) / kFrame + 1) return false;
  if (std::uint64_t{entries.back().place} * 8 > numbers.size()) return false;
  for (std::size_t frame = 0; frame + 1 < entries.size(); ++frame) {
    const std::uint32_t begin = entries[frame].place;
    const std::uint32_t end = entries[frame + 1].place;
    if (end < begin || end - begin > kMaxBitWidth) return false;
  }
  const FramedArray array(entries, numbers.data());
  for (std::uint64_t i = 0; i < size; ++i) {
    if (array[i] >= limit) return false;
  }
  return true;
}

FramedArray::Parts FramedArray::Build(std::span<const std::uint32_t> numbers) {
  Parts parts;
  BitWriter bits;
  const auto words = [&] { return static_cast<std::uint32_t>(bits.bits() / 64); };
  for (std::size_t begin = 0; begin < numbers.size(); begin += kFrame) {
    const auto frame =
        numbers.subspan(begin, std::min<std::size_t>(kFrame, numbers.size() - begin));
    const auto [lowest, highest] = std::minmax_element(frame.begin(), frame.end());
    const int width = BitWidth(*highest - *lowest);
    parts.entries.push_back({.lowest = *lowest, .place = words()});
    for (std::uint32_t i = 0; i < kFrame; ++i) {
      bits.Put(i < frame.size() ? frame[i] - *lowest : 0, width);
    }
  }
  parts.entries.push_back({.lowest = 0, .place = words()});
  parts.numbers = bits.Take();
  parts.numbers.resize(parts.numbers.size() + kBitPadding);
  return parts;
}

}  // namespace stout::blowfish
