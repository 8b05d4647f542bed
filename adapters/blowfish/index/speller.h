#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "blowfish/index/bytes_hash.h"
#include "blowfish/index/psi.h"
#include "blowfish/index/token_alphabet.h"

namespace stout::blowfish {

/// Finds the symbols that make up values, by a hash table of their pieces. A text has many pieces,
/// and a binary search for each of them would wait for a dozen loads, one behind the other.
///
/// Slots are symbols; the alphabet has their texts. From the slot of its hash on, a piece is in a
/// slot before the first empty one.
///
/// Space: 3 bytes a symbol.
/// Cost: for a piece a slot and a text, each of which may miss the cache; sometimes two or three.
/// Owner: it owns the slots; the memory behind the spans of the alphabet outlives it.
/// Threads: as a const value.
/// Source: Knuth, TAOCP 3, 6.4, Algorithm L, at a load of 2/3.
class Speller {
 public:
  explicit Speller(const TokenAlphabet& alphabet);

  /// The symbol of a piece.
  [[nodiscard]] std::optional<Symbol> Find(std::size_t attribute, bool first,
                                           std::string_view piece) const {
    const SymbolRange pieces = alphabet_.PiecesOf(attribute, first);
    for (std::size_t slot = SlotOf(attribute, first, piece);; slot = After(slot)) {
      const Symbol symbol = slots_[slot];
      if (symbol >= pieces.first && symbol < pieces.last &&
          alphabet_.Piece(attribute, symbol) == piece) {
        return symbol;
      }
      if (symbol == kEmpty) return std::nullopt;
    }
  }

  /// As many as most values have.
  using Symbols = boost::container::small_vector<Symbol, 24>;

  /// The symbols of a value; nothing where no record can have that value.
  [[nodiscard]] std::optional<Symbols> Spell(std::size_t attribute, std::string_view value) const;

  /// Symbols, and then any one of a range.
  struct Beginning {
    std::vector<Symbol> symbols;
    SymbolRange last;
  };
  /// How the values may begin that have a prefix: in at most two ways, of which no value has both.
  [[nodiscard]] std::vector<Beginning> SpellPrefix(std::size_t attribute,
                                                   std::string_view prefix) const;

  [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(Symbol); }

 private:
  // Also the last symbol that there can be, which has no slot: it is looked at where the slots end
  // that it could be in.
  static constexpr Symbol kEmpty = kMaxSymbols - 1;

  [[nodiscard]] std::size_t SlotOf(std::size_t attribute, bool first,
                                   std::string_view piece) const {
    const std::uint64_t hash = Xxh3(piece, 2 * attribute + (first ? 1 : 0)) >> 32;
    return hash * slots_.size() >> 32;
  }
  [[nodiscard]] std::size_t After(std::size_t slot) const {
    return slot + 1 == slots_.size() ? 0 : slot + 1;
  }

  TokenAlphabet alphabet_;
  std::vector<Symbol> slots_;
};

}  // namespace stout::blowfish
