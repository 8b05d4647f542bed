#include "blowfish/index/anchors.h"

#include <algorithm>

namespace stout::blowfish {

Anchors::Anchors(const SelfIndex& index, const TokenAlphabet& alphabet)
    : records_(index.records()),
      first_rows_(alphabet.attributes() + 1),
      shift_(std::max(0, BitWidth(index.rows()) - kTableBits)) {
  for (std::size_t a = 0; a < alphabet.attributes(); ++a) {
    const std::uint32_t first = alphabet.attribute(a).first;
    first_rows_[OrdinalOf(a)] = index.RowsOf(first, first).first;
  }
  std::uint32_t ordinal = 1;
  for (std::uint64_t row = 0; row < index.rows(); row += std::uint64_t{1} << shift_) {
    while (ordinal < attributes() && first_rows_[ordinal + 1] <= row) ++ordinal;
    lowest_ordinal_.push_back(static_cast<std::uint8_t>(ordinal));
  }
}

}  // namespace stout::blowfish
