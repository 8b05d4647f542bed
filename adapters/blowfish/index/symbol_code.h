#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blowfish/index/field.h"

namespace stout::blowfish {

/// Maps a field's symbols to bytes whose order is that of the symbols, in one byte or two. No code
/// begins another, and one byte value, which stands for no symbol, begins none.
///
/// All codes have one byte while that suffices. In a larger alphabet a run of neighbours has two
/// bytes, at the place where the text has the fewest symbols. The run is as short as possible, so
/// 256 letters of equal frequency take 1.01 bytes each, not two.
///
///     symbols 0..3 with bytes 0..2, the run being 1..2:   0 -> 0    1 -> 1,0    2 -> 1,1    3 -> 2
///
/// Cost: making it reads the text; a code takes no memory access.   Owner: value type.
class SymbolCode {
 public:
  /// Byte values that begin codes: all but one.
  static constexpr std::size_t kLeads = 255;
  /// Maximum number of symbols of a field: that of the codes for these leads.
  static constexpr std::size_t kMaxFieldSymbols = kLeads * 256;

  /// The first code begins with `lowest`, 0 or 1.
  SymbolCode(const Field& field, std::uint8_t lowest);

  /// Bytes of all symbols of the field's text.
  [[nodiscard]] std::size_t text_bytes() const { return text_bytes_; }

  void Append(Symbol symbol, std::vector<std::uint8_t>& bytes) const {
    if (symbol < first_) {
      bytes.push_back(Byte(symbol));
    } else if (symbol - first_ < wide_) {
      const std::uint32_t at = symbol - first_;
      bytes.push_back(Byte(first_ + (at >> 8)));
      bytes.push_back(static_cast<std::uint8_t>(at));
    } else {
      bytes.push_back(Byte(symbol - wide_ + leads_));
    }
  }

  /// Returns the bytes of the code that begins with this byte.
  [[nodiscard]] std::size_t BytesOf(std::uint8_t lead) const {
    return lead - lowest_ - first_ < leads_ ? 2 : 1;
  }

  /// The one whose code is there.
  [[nodiscard]] Symbol SymbolAt(const std::uint8_t* code) const {
    const std::uint32_t lead = static_cast<std::uint32_t>(*code) - lowest_;
    if (lead < first_) return static_cast<Symbol>(lead);
    if (lead - first_ < leads_)
      return static_cast<Symbol>(first_ + (lead - first_) * 256 + code[1]);
    return static_cast<Symbol>(lead - leads_ + wide_);
  }

 private:
  [[nodiscard]] std::uint8_t Byte(std::uint32_t lead) const {
    return static_cast<std::uint8_t>(lead + lowest_);
  }

  std::uint32_t lowest_;
  std::uint32_t first_ = 0;  // The run of those that have two bytes,
  std::uint32_t wide_ = 0;   // how many these are,
  std::uint32_t leads_ = 0;  // and how many byte values begin them.
  std::size_t text_bytes_ = 0;
};

}  // namespace stout::blowfish
