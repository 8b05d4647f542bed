#include "token_alphabet.h"

#include <cstring>
#include <utility>

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

std::string_view TokenAlphabet::Piece(std::size_t attribute, Symbol symbol) const {
  std::string_view text = Print(symbol);
  if (attribute > 0 && symbol < attributes_[attribute].next && !text.empty()) {
    text.remove_prefix(1);
  }
  return text;
}

SymbolRange TokenAlphabet::PiecesOf(std::size_t attribute, bool first) const {
  const Attribute& a = attributes_[attribute];
  return first ? SymbolRange{a.first + a.lacking, a.next} : SymbolRange{a.next, a.last};
}

std::optional<Symbol> TokenAlphabet::Find(std::size_t attribute, bool first,
                                          std::string_view piece) const {
  const SymbolRange pieces = PiecesOf(attribute, first);
  const std::uint32_t found =
      FirstNot(pieces, [&](Symbol symbol) { return Piece(attribute, symbol) < piece; });
  if (found == pieces.last || Piece(attribute, static_cast<Symbol>(found)) != piece) {
    return std::nullopt;
  }
  return static_cast<Symbol>(found);
}

SymbolRange TokenAlphabet::FindPrefix(std::size_t attribute, bool first,
                                      std::string_view prefix) const {
  const SymbolRange pieces = PiecesOf(attribute, first);
  const auto beginning = [&](Symbol s) { return Piece(attribute, s).substr(0, prefix.size()); };
  const std::uint32_t found = FirstNot(pieces, [&](Symbol s) { return beginning(s) < prefix; });
  return {found, FirstNot({found, pieces.last}, [&](Symbol s) { return beginning(s) == prefix; })};
}

std::optional<std::vector<Symbol>> TokenAlphabet::Spell(std::size_t attribute,
                                                        std::string_view value) const {
  std::vector<Symbol> symbols;
  bool known = true;
  std::optional<Symbol> word_symbol;  // Of a word that is the next piece.
  Cut(
      attributes_[attribute].rule, value,
      [&](bool first, std::string_view word) {
        word_symbol = Find(attribute, first, word);
        return word_symbol.has_value();
      },
      [&](bool first, std::string_view piece) {
        const std::optional<Symbol> symbol =
            word_symbol ? std::exchange(word_symbol, {}) : Find(attribute, first, piece);
        known = known && symbol;
        if (known) symbols.push_back(*symbol);
      });
  if (!known) return std::nullopt;
  return symbols;
}

std::vector<TokenAlphabet::Beginning> TokenAlphabet::SpellPrefix(std::size_t attribute,
                                                                 std::string_view prefix) const {
  const CutRule rule = attributes_[attribute].rule;
  // What is certainly cut as it stands here, and the rest, which longer pieces may begin with.
  std::size_t certain = 0;
  if (rule.kind == CutRule::kChunks && !prefix.empty()) {
    certain = (prefix.size() - 1) / rule.chunk * rule.chunk;
  } else if (rule.kind == CutRule::kWords) {
    certain = prefix.find_last_of(' ') + 1;  // of no space too
  }
  std::vector<Symbol> symbols;
  if (certain > 0) {
    const auto spelled = Spell(attribute, prefix.substr(0, certain));
    if (!spelled) return {};
    symbols = *spelled;
  }
  const std::string_view rest = prefix.substr(certain);
  if (rest.empty() && !symbols.empty()) {
    const Symbol last = symbols.back();
    symbols.pop_back();
    return {{symbols, {last, last + 1U}}};
  }

  std::vector<Beginning> beginnings;
  const SymbolRange pieces = FindPrefix(attribute, certain == 0, rest);
  if (!pieces.empty()) beginnings.push_back({symbols, pieces});
  // The rest may also begin a word that is spelled byte by byte: then it ends in a piece of one.
  if (rule.kind == CutRule::kWords && rest.size() > 1) {
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const auto symbol = Find(attribute, certain + i == 0, rest.substr(i, 1));
      if (!symbol) return beginnings;
      symbols.push_back(*symbol);
    }
    const Symbol last = symbols.back();
    symbols.pop_back();
    beginnings.push_back({symbols, {last, last + 1U}});
  }
  return beginnings;
}

}  // namespace stout::blowfish
