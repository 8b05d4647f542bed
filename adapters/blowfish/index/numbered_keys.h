#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/elias_fano.h"
#include "blowfish/index/key_numbering.h"
#include "blowfish/index/key_visitor.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Sorted keys as numbers in Elias-Fano, read in place: see KeyNumbering for which keys have them.
///
/// Layout: words layout, positions, shortest key's length; for each position the set of its bytes,
/// four words; the numbers.
/// Space: 2 + log2(numbers / keys) bits a key and the samples of EliasFano: half a million keys
/// take 47 bits each if they are 8 random bytes, 4 if they are consecutive decimals. Cost: see
/// EliasFano; and a nanosecond or two a byte of the key to number it, more to spell it. The rest is
/// as in KeyDirectory, of which this is one half.
class NumberedKeys {
 public:
  static constexpr std::uint64_t kLayout = 1;

  /// Longer keys are not numbered.
  static constexpr std::size_t kMaxPositions = 128;

  [[nodiscard]] static Result<NumberedKeys> Open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return numbers_.size(); }
  /// Two lengths a key, and what keys differ in: at least a byte, and at least their numbers.
  [[nodiscard]] std::uint64_t text_bytes() const {
    return 2 * size() + std::max(size(), number_bytes_);
  }
  [[nodiscard]] std::optional<std::uint64_t> Find(std::string_view key) const;
  [[nodiscard]] std::uint64_t LowerBound(std::string_view key) const;
  void AppendKey(std::uint64_t record, std::string& key) const;
  void Scan(std::uint64_t from, const KeyVisitor& visit) const;

  /// Memory beside the bytes that were opened.
  [[nodiscard]] std::uint64_t table_bytes() const { return numbering_.bytes(); }

 private:
  NumberedKeys(KeyNumbering numbering, EliasFano numbers, std::uint64_t number_bytes)
      : numbering_(std::move(numbering)), numbers_(numbers), number_bytes_(number_bytes) {}

  KeyNumbering numbering_;
  EliasFano numbers_;
  std::uint64_t number_bytes_;
};

/// The part before the numbers.
[[nodiscard]] std::vector<std::byte> NumberedKeysHeader(
    const std::vector<KeyNumbering::Alphabet>& alphabets, std::uint64_t shortest);

}  // namespace stout::blowfish
