#include "blowfish/index/token_alphabet.h"

#include <cstring>

namespace stout::blowfish {
namespace {

// The first symbol of which the condition does not hold, as it does of all before it.
template <typename Condition>
std::uint32_t FirstNot(SymbolRange symbols, Condition holds) {
  while (symbols.first < symbols.last) {
    const std::uint32_t middle = symbols.first + (symbols.last - symbols.first) / 2;
    if (holds(static_cast<Symbol>(middle))) {
      symbols.first = middle + 1;
    } else {
      symbols.last = middle;
    }
  }
  return symbols.first;
}

}  // namespace

std::string_view TokenAlphabet::LongText(const Text& text) const {
  std::uint32_t size;
  std::uint64_t place;
  std::memcpy(&size, text.bytes, sizeof size);
  std::memcpy(&place, text.bytes + sizeof size, sizeof place);
  return {long_texts_.data() + place, size};
}

SymbolRange TokenAlphabet::FindPrefix(std::size_t attribute, bool first,
                                      std::string_view prefix) const {
  const SymbolRange pieces = PiecesOf(attribute, first);
  const auto beginning = [&](Symbol s) { return Piece(attribute, s).substr(0, prefix.size()); };
  const std::uint32_t found = FirstNot(pieces, [&](Symbol s) { return beginning(s) < prefix; });
  return {found, FirstNot({found, pieces.last}, [&](Symbol s) { return beginning(s) == prefix; })};
}

}  // namespace stout::blowfish
