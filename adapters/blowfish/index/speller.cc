#include "blowfish/index/speller.h"

#include <utility>

#include "blowfish/index/cut.h"

namespace stout::blowfish {
namespace {

// Returns where the last run of a text begins. Only that run can be longer in a longer text.
std::size_t LastRun(std::string_view text) {
  std::size_t begin = 0;
  while (!text.empty()) {
    const std::size_t size = RunSize(text);
    if (size == text.size()) break;
    text.remove_prefix(size);
    begin += size;
  }
  return begin;
}

}  // namespace

Speller::Speller(const TokenAlphabet& alphabet)
    : alphabet_(alphabet), slots_(alphabet.symbols() + alphabet.symbols() / 2 + 1, kEmpty) {
  for (std::size_t a = 0; a < alphabet.attributes(); ++a) {
    for (const bool first : {true, false}) {
      const SymbolRange pieces = alphabet.PiecesOf(a, first);
      for (std::uint32_t s = pieces.first; s < pieces.last; ++s) {
        const auto symbol = static_cast<Symbol>(s);
        if (symbol == kEmpty) continue;
        std::size_t slot = SlotOf(a, first, alphabet.Piece(a, symbol));
        while (slots_[slot] != kEmpty) slot = After(slot);
        slots_[slot] = symbol;
      }
    }
  }
}

std::optional<Speller::Symbols> Speller::Spell(std::size_t attribute,
                                               std::string_view value) const {
  std::optional<Symbols> symbols(std::in_place);
  std::optional<Symbol> word_symbol;  // symbol of a word that is the next piece
  Cut(
      alphabet_.attribute(attribute).rule, value,
      [&](bool first, std::string_view word) {
        word_symbol = Find(attribute, first, word);
        return word_symbol.has_value();
      },
      [&](bool first, std::string_view piece) {
        if (!symbols) return;
        const std::optional<Symbol> symbol =
            word_symbol ? std::exchange(word_symbol, {}) : Find(attribute, first, piece);
        if (symbol) {
          symbols->push_back(*symbol);
        } else {
          symbols.reset();
        }
      });
  return symbols;
}

std::vector<Speller::Beginning> Speller::SpellPrefix(std::size_t attribute,
                                                     std::string_view prefix) const {
  const CutRule rule = alphabet_.attribute(attribute).rule;
  // The prefix has a part that is certainly cut in this way, and a rest, with which longer pieces
  // may begin.
  std::size_t certain = 0;
  if (rule.kind == CutRule::kChunks && !prefix.empty()) {
    certain = (prefix.size() - 1) / rule.chunk_bytes() * rule.chunk_bytes();
  } else if (rule.kind == CutRule::kWords) {
    certain = prefix.find_last_of(' ') + 1;  // of no space too
  } else if (rule.kind == CutRule::kRuns) {
    certain = LastRun(prefix);
  }
  std::vector<Symbol> symbols;
  if (certain > 0) {
    const auto spelled = Spell(attribute, prefix.substr(0, certain));
    if (!spelled) return {};
    symbols.assign(spelled->begin(), spelled->end());
  }
  const std::string_view rest = prefix.substr(certain);
  if (rest.empty() && !symbols.empty()) {
    const Symbol last = symbols.back();
    symbols.pop_back();
    return {{symbols, {last, last + 1U}}};
  }

  std::vector<Beginning> beginnings;
  const SymbolRange pieces = alphabet_.FindPrefix(attribute, certain == 0, rest);
  if (!pieces.empty()) beginnings.push_back({symbols, pieces});
  // The rest may also begin a word that is cut into chunks. Then its last chunk may be longer.
  if (rule.has_words() && rest.size() > rule.chunk_bytes()) {
    const std::size_t chunk = rule.chunk_bytes();
    const std::size_t last = (rest.size() - 1) / chunk * chunk;
    for (std::size_t i = 0; i < last; i += chunk) {
      const auto symbol = Find(attribute, certain + i == 0, rest.substr(i, chunk));
      if (!symbol) return beginnings;
      symbols.push_back(*symbol);
    }
    const SymbolRange chunks = alphabet_.FindPrefix(attribute, false, rest.substr(last));
    if (!chunks.empty()) beginnings.push_back({symbols, chunks});
  }
  return beginnings;
}

}  // namespace stout::blowfish
