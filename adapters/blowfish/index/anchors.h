#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blowfish/index/self_index.h"
#include "blowfish/index/token_alphabet.h"

namespace stout::blowfish {

/// The starts of attributes: the places of the text that are sampled. A search can only begin
/// there, and asks for the record of the place. Therefore no other places need samples.
///
/// The ordinal of an attribute is counted from the end of the record, the last being 1. Walks go to
/// the end, and that is ordinal 0, which needs no sample. The rows of an ordinal are adjacent, one
/// for each record. So an anchor is a row, or (ordinal, place among its rows).
///
/// Cost: finding a row's anchor takes a look into a table of some KiB.
/// Paper: BlowFish (NSDI'16) Section 3.1 samples all of the text; sampling attributes only takes an
///   eighth of that space for the same walks.
class Anchors {
 public:
  struct Anchor {
    std::uint32_t ordinal = 0;  ///< 0: none.
    Row place = 0;
  };

  Anchors() = default;
  Anchors(const SelfIndex& index, const TokenAlphabet& alphabet);

  [[nodiscard]] std::uint32_t OrdinalOf(std::size_t attribute) const {
    return static_cast<std::uint32_t>(first_rows_.size() - 1 - attribute);
  }
  [[nodiscard]] std::size_t AttributeOf(std::uint32_t ordinal) const {
    return first_rows_.size() - 1 - ordinal;
  }
  /// The largest ordinal.
  [[nodiscard]] std::uint32_t attributes() const {
    return static_cast<std::uint32_t>(first_rows_.size() - 1);
  }

  /// Requires a row that is no record's end.
  [[nodiscard]] Anchor At(Row row) const {
    std::uint32_t ordinal = lowest_ordinal_[row >> shift_];
    while (ordinal < attributes() && first_rows_[ordinal + 1] <= row) ++ordinal;
    const Row place = row - first_rows_[ordinal];
    return place < records_ ? Anchor{ordinal, place} : Anchor{};
  }
  [[nodiscard]] Row RowOf(Anchor anchor) const {
    return first_rows_[anchor.ordinal] + anchor.place;
  }
  [[nodiscard]] RowRange RowsOf(std::uint32_t ordinal) const {
    return {first_rows_[ordinal], first_rows_[ordinal] + records_};
  }

 private:
  static constexpr int kTableBits = 12;

  std::uint32_t records_ = 0;
  std::vector<Row> first_rows_;               // By ordinal; that of 0 is not used.
  std::vector<std::uint8_t> lowest_ordinal_;  // for rows that share their high bits
  int shift_ = 0;
};

}  // namespace stout::blowfish
