#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stout::blowfish {

/// Numbers for keys, in the byte order of the keys.
///
/// A key is read as a number whose digits are its bytes. The digit at position p is the rank of the
/// byte among those that any key has at p; where some keys end before p, "no byte" is one of the
/// digits, the smallest. The base differs from position to position: it is 1, and costs nothing,
/// where all keys have the same byte, 256 where they have any, 10 where they have decimal digits
/// and 11 where some end. So this covers keys of 8 arbitrary bytes, and "user:1" to "user:250000",
/// and dates, and hexadecimal numbers, wherever the product of the bases is at most 2^64.
///
/// Example: the keys a1, a12, b2. Position 0 has {a, b}, position 1 {1, 2}, position 2 {none, 2}:
/// a1 = 0 0 0 = 0, a12 = 0 0 1 = 1, b2 = 1 1 0 = 6.
///
/// Cost: a multiplication a position for a number, a division for a key. About 800 bytes a
/// position. Threads: as a const value.
class KeyNumbering {
 public:
  /// A set of bytes: byte b is bit b % 64 of word b / 64.
  using Alphabet = std::array<std::uint64_t, 4>;

  /// Makes the numbering of keys of `shortest` to alphabets.size() bytes, whose bytes are in these
  /// sets. Returns nullopt if there would be more than 2^64 numbers.
  [[nodiscard]] static std::optional<KeyNumbering> Make(const std::vector<Alphabet>& alphabets,
                                                        std::uint64_t shortest);

  /// Returns the number of a key that has one. A key without a number is not among the keys.
  [[nodiscard]] std::optional<std::uint64_t> NumberOf(std::string_view key) const;

  /// The least number whose key is not before `key`; nothing where all keys are before it.
  [[nodiscard]] std::optional<std::uint64_t> FirstNumberFrom(std::string_view key) const;

  /// Appends the key that has this number. Any number is safe.
  void AppendKey(std::uint64_t number, std::string& key) const;

  /// Memory for tables.
  [[nodiscard]] std::uint64_t bytes() const { return positions_.size() * sizeof(Position); }

 private:
  struct Position {
    std::uint64_t base = 1;
    bool may_end = false;  // "No byte" is a digit: 0.
    Alphabet alphabet{};
    std::array<std::uint16_t, 256> digits{};  // per byte: the number of smaller digits
    std::array<char, 256> bytes{};            // of digit i, or of i + 1 if may_end

    [[nodiscard]] bool Has(unsigned char byte) const {
      return alphabet[byte / 64] >> (byte % 64) & 1;
    }
  };

  // A place in the order of the numbers; it can be 2^64.
  struct Place {
    unsigned __int128 number = 0;
    bool exact =
        true;  // the key has this number; otherwise it lies before it, and behind the one below
  };

  [[nodiscard]] Place Locate(std::string_view key) const;

  std::vector<Position> positions_;
};

}  // namespace stout::blowfish
