#pragma once

#include <algorithm>
#include <cstdint>

namespace stout::blowfish {

/// A part of a value as GETRANGE names it: the first byte and the last one, counted from 0, or from
/// the end if negative: -1 is the last byte.
///
///     ByteRange{-3, -1}.In(10);  // offset 7, size 3
///
/// Owner: value type.
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t last = -1;

  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };

  /// Returns the part that a value of this size has; of size 0 if it has none. As in redis, a place
  /// before the first byte means the first byte.
  [[nodiscard]] Part In(std::uint64_t value_bytes) const {
    if (value_bytes == 0 || (first < 0 && last < 0 && first > last)) return {};
    const auto size = static_cast<std::int64_t>(value_bytes);
    const auto place = [&](std::int64_t at) {
      return std::max<std::int64_t>(at < 0 ? size + at : at, 0);
    };
    const std::int64_t begin = place(first);
    const std::int64_t end = std::min(place(last), size - 1);
    if (begin > end) return {};
    return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin + 1)};
  }
};

}  // namespace stout::blowfish
