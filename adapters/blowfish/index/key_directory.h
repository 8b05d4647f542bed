#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "blowfish/index/front_coded_keys.h"
#include "blowfish/index/key_visitor.h"
#include "blowfish/index/numbered_keys.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Which key each record of an index has, read in place. It owns its tables, not the keys.
///
/// Records are numbered 0, 1, ... in the byte order of their keys. Keys are distinct and any bytes.
///
///     KeyDirectory keys = KeyDirectory::Open(*file.Find("keys")).value();
///     std::optional<std::uint64_t> record = keys.Find("user:7");
///     keys.Scan(keys.LowerBound("user:"), [](std::uint64_t record, std::string_view key) {
///       return key.starts_with("user:") && Show(record, key);
///     });
///
/// Layout: a word that tells which of two layouts follows, the smaller one for the keys at hand:
/// NumberedKeys or FrontCodedKeys. They tell what they cost.
///
/// Threads: as a const value.   Errors: only Open() fails; after it, no call reads beyond the bytes
/// whatever they are, but bytes that no writer of ours made give wrong keys.
class KeyDirectory {
 public:
  /// No keys.
  KeyDirectory() = default;

  /// `bytes` outlives the directory, and is followed by kBitPadding readable bytes. kCorrupt: it is
  /// not what a writer gave. Cost: reads one to three bits a key.
  [[nodiscard]] static Result<KeyDirectory> Open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const;

  [[nodiscard]] std::optional<std::uint64_t> Find(std::string_view key) const;

  /// The first record whose key is not before `key`; size() if there is none.
  [[nodiscard]] std::uint64_t LowerBound(std::string_view key) const;

  /// Appends the key of record < size().
  void AppendKey(std::uint64_t record, std::string& key) const;

  /// Visits the records from `from` <= size() on, in order.
  void Scan(std::uint64_t from, const KeyVisitor& visit) const;

  /// Bytes of the keys front coded, lengths included. For NumberedKeys about that, rather less.
  [[nodiscard]] std::uint64_t text_bytes() const;

  /// Its size in the file and in memory.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  std::uint64_t bytes_ = 0;
  std::variant<FrontCodedKeys, NumberedKeys> keys_;
};

}  // namespace stout::blowfish
