#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "blowfish/index/cut.h"
#include "blowfish/index/psi.h"

namespace stout::blowfish {

/// Symbols that are next to each other: [first, last).
struct SymbolRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  [[nodiscard]] bool empty() const { return first == last; }
  friend bool operator==(const SymbolRange&, const SymbolRange&) = default;
};

/// The alphabet of an index over records with attributes: symbols are pieces of attribute values,
/// whole values wherever an attribute has few. TPC-H's line items of 138 bytes have 28 symbols.
///
/// Each attribute has symbols of its own, the last attribute the lowest: those that begin a value,
/// then those that continue one, each in the order of their bytes. So the suffixes that begin with
/// an attribute stand together, one for each record: a record that lacks the attribute has a symbol
/// for that, below the others. The symbol that begins a value prints the delimiter before it.
///
/// Space: 16 bytes a symbol, and the bytes of those that are longer than 15.
/// Cost: printing a symbol is a copy of 16 bytes; Speller finds them.
/// Owner: none; the spans stay with the file.   Threads: any.
class TokenAlphabet {
 public:
  /// The text of a symbol, as it is in the file.
  struct Text {
    static constexpr std::uint8_t kLong = 0xff;

    std::uint8_t size = 0;  ///< of `bytes`; or kLong: they hold the size and place of the text
    char bytes[15] = {};
  };
  static_assert(sizeof(Text) == 16);

  /// The symbols of an attribute, as it is in the file.
  struct Attribute {
    std::uint32_t first = 0;  ///< first of the symbols that begin values;
    std::uint32_t next = 0;   ///< those that continue them;
    std::uint32_t last = 0;   ///< those of another attribute.
    CutRule rule;
    std::uint8_t lacking = 0;  ///< 1: the lowest symbol stands for records that lack it.
    std::uint8_t unused = 0;

    /// Each value is one symbol.
    [[nodiscard]] bool one_each() const { return next == last; }
  };
  static_assert(sizeof(Attribute) == 16);

  TokenAlphabet() = default;
  /// `texts` may have more than the symbols of the attributes: those are only printed
  /// where a Psi is wrong.
  TokenAlphabet(std::span<const Attribute> attributes, std::span<const Text> texts,
                std::span<const char> long_texts)
      : attributes_(attributes), texts_(texts), long_texts_(long_texts) {}

  [[nodiscard]] std::size_t attributes() const { return attributes_.size(); }
  /// The number of symbols: those of the first attribute are the highest.
  [[nodiscard]] std::uint32_t symbols() const {
    return attributes_.empty() ? 0 : attributes_.front().last;
  }
  [[nodiscard]] const Attribute& attribute(std::size_t a) const { return attributes_[a]; }

  [[nodiscard]] const Text& text(Symbol symbol) const { return texts_[symbol]; }

  /// Returns the text of the symbol in a value, with the delimiter that it begins with, if any.
  [[nodiscard]] std::string_view Print(Symbol symbol) const {
    const Text& text = texts_[symbol];
    return text.size == Text::kLong ? LongText(text) : std::string_view(text.bytes, text.size);
  }

  /// Print() without the delimiter.
  [[nodiscard]] std::string_view Piece(std::size_t attribute, Symbol symbol) const {
    std::string_view text = Print(symbol);
    if (attribute > 0 && symbol < attributes_[attribute].next && !text.empty()) {
      text.remove_prefix(1);
    }
    return text;
  }

  /// The symbols of the pieces that begin values, or of those that go on, in the order of these.
  [[nodiscard]] SymbolRange PiecesOf(std::size_t attribute, bool first) const {
    const Attribute& a = attributes_[attribute];
    return first ? SymbolRange{a.first + a.lacking, a.next} : SymbolRange{a.next, a.last};
  }
  /// The symbols of all pieces that begin so.
  [[nodiscard]] SymbolRange FindPrefix(std::size_t attribute, bool first,
                                       std::string_view prefix) const;

 private:
  [[nodiscard]] std::string_view LongText(const Text& text) const;

  std::span<const Attribute> attributes_;
  std::span<const Text> texts_;
  std::span<const char> long_texts_;
};

}  // namespace stout::blowfish
