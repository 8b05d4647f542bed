#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/bits.h"
#include "blowfish/index/key_visitor.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Sorted keys of any kind, each less what it has in common with the one before it, read in place.
///
/// Layout: words layout, size, payload bytes; the payload; where each block of 16 keys begins in
/// it, and where the last one ends, packed. The first key of a block is whole: length, bytes. The
/// others are: length in common with the key before, length of the rest, the rest. Lengths are
/// LEB128.
///
/// Example: car, card, care, cat are  3 car | 3 1 d | 3 1 e | 2 1 t.
///
/// Space: what the keys differ in, two bytes a key for the lengths, 1 to 2 bits for the blocks.
/// Cost: a search compares with log2(keys / 16) first keys, two cache misses each, and then with
/// half a block in one pass; it takes no memory. A key takes half a block.
/// Errors: Open() checks sizes and where the blocks begin; what is in a block is checked when it is
/// read, so that no call reads beyond it: bytes that are no key end their block.
/// The rest is as in KeyDirectory, of which this is one half.
class FrontCodedKeys {
 public:
  static constexpr std::uint64_t kLayout = 0;
  static constexpr std::uint64_t kHeaderBytes = 3 * 8;

  /// No keys.
  FrontCodedKeys() = default;

  [[nodiscard]] static Result<FrontCodedKeys> Open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t text_bytes() const { return text_bytes_; }
  [[nodiscard]] std::optional<std::uint64_t> Find(std::string_view key) const;
  [[nodiscard]] std::uint64_t LowerBound(std::string_view key) const;
  void AppendKey(std::uint64_t record, std::string& key) const;
  void Scan(std::uint64_t from, const KeyVisitor& visit) const;

 private:
  struct Place {
    std::uint64_t record;  // The first whose key is not before the one sought.
    bool exact;
  };

  [[nodiscard]] Place Seek(std::string_view key) const;
  [[nodiscard]] std::string_view Block(std::uint64_t block) const;
  [[nodiscard]] std::string_view FirstKey(std::uint64_t block) const;

  std::uint64_t size_ = 0;
  std::uint64_t text_bytes_ = 0;
  const char* payload_ = nullptr;
  PackedArray blocks_;
};

/// Writes them. That keys come in strictly ascending order is for KeyDirectoryWriter to see to.
class FrontCodedKeysWriter {
 public:
  FrontCodedKeysWriter();

  /// `common`: how many bytes it has in common with the key before it.
  void Append(std::string_view key, std::size_t common);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Bytes of the keys until now, as FrontCodedKeys::text_bytes().
  [[nodiscard]] std::uint64_t text_bytes() const { return bytes_.size() - kHeaderBytes; }

  /// Returns the written bytes, without padding.
  [[nodiscard]] std::vector<std::byte> Take();

 private:
  static constexpr std::uint64_t kHeaderBytes = FrontCodedKeys::kHeaderBytes;

  void PutLength(std::uint64_t length);

  std::uint64_t size_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> blocks_;  // start of each block
};

}  // namespace stout::blowfish
