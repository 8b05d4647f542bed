#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/key_directory_writer.h"
#include "blowfish/index/record.h"
#include "blowfish/index/stamp_column.h"
#include "blowfish/store/encoding_choice.h"
#include "blowfish/store/succinct_store.h"
#include "stout/error.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// Maximum bytes of values in one index, plus one byte for each attribute of each record. A value
/// has at most one symbol per byte and one per attribute. A field's text takes up to two bytes per
/// symbol, which divsufsort counts in 31 bits; see RowOrder.
inline constexpr std::uint64_t kMaxValueBytes = std::uint64_t{1} << 29;

/// Returns true if one index can hold that: the bytes, and in the text that is sorted five more for
/// the end of each record.
[[nodiscard]] constexpr bool FitsIndex(std::uint64_t value_bytes, std::uint64_t records,
                                       std::uint64_t attributes,
                                       std::uint64_t max_value_bytes = kMaxValueBytes) {
  const std::uint64_t symbols = value_bytes + records * attributes;
  return symbols <= max_value_bytes && 2 * symbols + 5 * records < std::uint64_t{1} << 31;
}

/// Writes the file of a SuccinctStore from records that come in strictly ascending order of their
/// keys.
///
/// Memory: the values; for the building of their index four times their size, for line items of
/// TPC-H; the keys and the stamps, encoded.
/// Cost: some 40 ns a byte of values, likewise.
/// Threads: none of its own; callers serialise.
class SuccinctStoreWriter {
 public:
  /// `max_bytes`: what HasRoomFor() goes by; in (0, kMaxValueBytes].
  explicit SuccinctStoreWriter(Schema schema, std::uint64_t max_bytes = kMaxValueBytes,
                               Encoding encoding = Encoding::kMeasured)
      : schema_(std::move(schema)), max_bytes_(max_bytes), encoding_(encoding) {}

  void Append(const Record& record);

  /// A key that is gone. These keys come in ascending order, too, and are none of the records'.
  void AppendTombstone(std::string_view key, const Tombstone& tombstone);

  [[nodiscard]] std::uint64_t records() const { return ends_.size(); }
  [[nodiscard]] std::uint64_t value_bytes() const { return values_.size(); }
  /// Bytes of both kinds of keys, front coded.
  [[nodiscard]] std::uint64_t key_bytes() const {
    return keys_.text_bytes() + deleted_keys_.text_bytes();
  }

  [[nodiscard]] bool empty() const { return records() == 0 && deleted_times_.empty(); }

  /// Returns true if the file may have that record, too, or that key with a tombstone: the first
  /// one always. Keys and tombstones count as values do, because they take memory.
  [[nodiscard]] bool HasRoomFor(const Record& record) const {
    const std::uint64_t bytes =
        key_bytes() + value_bytes() + record.key.size() + record.value.size();
    return empty() ||
           FitsIndex(bytes, records() + deleted_times_.size() + 1, schema_.size(), max_bytes_);
  }

  /// Chooses the encoding, unless it was given, and publishes the file. The writer cannot be used
  /// afterwards. Errors: kBadOptions if the keys were not in order. kTooLarge if one index cannot
  /// hold it.
  ///   kTransient if it was asked to stop, which takes at most a second. For the others see
  ///   IndexFileWriter.
  [[nodiscard]] ErrorCode Finish(const std::string& path, Diagnostics* diagnostics = nullptr,
                                 const std::stop_token& stop = {});

 private:
  Schema schema_;
  std::uint64_t max_bytes_;
  Encoding encoding_;
  KeyDirectoryWriter keys_;
  StampColumnWriter stamps_;
  KeyDirectoryWriter deleted_keys_;
  StampColumnWriter deleted_stamps_;
  std::vector<std::uint64_t> deleted_times_;
  std::vector<std::uint64_t> key_hashes_;  // of both kinds of keys
  std::string values_;
  std::vector<std::uint64_t> ends_;  // of each value
};

}  // namespace stout::blowfish
