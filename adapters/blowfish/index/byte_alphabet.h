#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "blowfish/index/psi.h"
#include "stout/error.h"

namespace stout::blowfish {

/// The bytes that occur in a text, and their symbols, in the order of the bytes.
///
/// In a file it is a set of bytes: bit b % 8 of byte b / 8 tells whether b occurs.
///
/// Space: 32 bytes of a file, 800 of memory.   Owner: value type.
class ByteAlphabet {
 public:
  static constexpr std::size_t kFileBytes = 256 / 8;

  ByteAlphabet() = default;
  explicit ByteAlphabet(const std::array<bool, 256>& occurs);

  /// kCorrupt: not what Encode gives.
  [[nodiscard]] static Result<ByteAlphabet> Open(std::span<const std::byte> bytes);
  [[nodiscard]] std::array<std::byte, kFileBytes> Encode() const;

  [[nodiscard]] std::size_t symbols() const { return symbols_; }
  /// Some byte for what is no symbol, as a Psi that is wrong has.
  [[nodiscard]] char Print(Symbol symbol) const { return bytes_[symbol % bytes_.size()]; }
  /// Returns nullopt if the text has no such byte.
  [[nodiscard]] std::optional<Symbol> Find(char byte) const {
    const auto b = static_cast<unsigned char>(byte);
    if (!occurs_[b]) return std::nullopt;
    return symbol_of_[b];
  }

 private:
  std::array<bool, 256> occurs_{};
  std::array<std::uint8_t, 256> symbol_of_{};
  std::array<char, 256> bytes_{};
  std::size_t symbols_ = 0;
};

}  // namespace stout::blowfish
