#include "blowfish/index/symbol_code.h"

#include <cassert>
#include <numeric>

namespace stout::blowfish {

SymbolCode::SymbolCode(const Field& field, std::uint8_t lowest) : lowest_(lowest) {
  assert(field.symbols <= kMaxFieldSymbols);
  // How often symbols below each occur.
  std::vector<std::size_t> below(field.symbols + 1);
  for (const Symbol symbol : field.text) {
    if (symbol != Field::kEnd) ++below[symbol + 1];
  }
  std::partial_sum(below.begin(), below.end(), below.begin());
  text_bytes_ = below.back();
  if (field.symbols <= kLeads) return;

  // The fewest leads for which all others and they are not too many.
  const std::size_t excess = field.symbols - kLeads;
  leads_ = static_cast<std::uint32_t>((excess + kLeads - 1) / kLeads);
  wide_ = static_cast<std::uint32_t>(excess + leads_);
  const auto occur = [&](std::uint32_t first) { return below[first + wide_] - below[first]; };
  for (std::uint32_t first = 0; first + wide_ <= field.symbols; ++first) {
    if (occur(first) < occur(first_)) first_ = first;
  }
  text_bytes_ += occur(first_);
}

}  // namespace stout::blowfish
