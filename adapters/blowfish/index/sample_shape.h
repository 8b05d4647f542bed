#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "blowfish/index/bits.h"

namespace stout::blowfish {

/// The shape of a layered sampled array: arithmetic, no data.
///
/// An index is `offset << k | ordinal`. The 2^k indices of one offset are a *group*. The entries of
/// one ordinal are a *column*, in the order of their offsets. A layer of sampling distance a = 2^j
/// holds the columns whose ordinals are odd multiples of a; the coarsest, a = 2^k, holds column 0.
/// So the layers down to a hold together the entries of a sampled array of distance a, each once.
/// With k = 3:
///
///     ordinal             0   1   2   3   4   5   6   7
///     layer (distance)    8   1   2   1   4   1   2   1
///
/// For records, the offset is the number of the record, the ordinal that of an attribute, and the
/// size the number of records times 2^k. A flat array has its plain positions as indices. Their
/// number need not be a power of two: the last group may be partial, and so a column may be one
/// entry shorter than another.
struct SampleShape {
  std::uint64_t size = 0;         ///< Indices are below it; <= kMaxSize.
  int width = 0;                  ///< Bits of a value, 0 to kMaxBitWidth.
  int coarsest_exponent = 0;      ///< k, 0 to kMaxExponent.
  bool coarsest_implied = false;  ///< callers know column 0: it is never stored and always there
  std::uint32_t columns = 1;      ///< Ordinals from here to 2^k do not occur; 1 to 2^k.

  static constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 48;
  static constexpr int kMaxExponent = 16;

  /// Check values from a file with it before use: all other members require it.
  [[nodiscard]] bool Valid() const {
    return size <= kMaxSize && width >= 0 && width <= kMaxBitWidth && coarsest_exponent >= 0 &&
           coarsest_exponent <= kMaxExponent && columns >= 1 && columns <= coarsest();
  }

  /// The largest sampling distance.
  [[nodiscard]] std::uint32_t coarsest() const { return std::uint32_t{1} << coarsest_exponent; }

  [[nodiscard]] std::uint32_t Ordinal(std::uint64_t index) const {
    return static_cast<std::uint32_t>(index & (coarsest() - 1));
  }
  [[nodiscard]] std::uint64_t Offset(std::uint64_t index) const {
    return index >> coarsest_exponent;
  }
  [[nodiscard]] std::uint64_t Index(std::uint64_t offset, std::uint32_t ordinal) const {
    return offset << coarsest_exponent | ordinal;
  }
  [[nodiscard]] bool Contains(std::uint64_t index) const {
    return index < size && Ordinal(index) < columns;
  }

  /// Entries of a column.
  [[nodiscard]] std::uint64_t Entries(std::uint32_t ordinal) const {
    if (ordinal >= columns || ordinal >= size) return 0;
    return Offset(size - 1 - ordinal) + 1;
  }

  /// Calls visit(ordinal) for each column of a layer.
  template <typename Visit>
  void ForEachColumn(std::uint32_t distance, Visit visit) const {
    assert(std::has_single_bit(distance) && distance <= coarsest());
    for (std::uint32_t o = distance % coarsest(); o < columns; o += 2 * distance) visit(o);
  }

  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

}  // namespace stout::blowfish
