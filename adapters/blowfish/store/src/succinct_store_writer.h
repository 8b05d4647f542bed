#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "key_directory_writer.h"
#include "record.h"
#include "schema.h"
#include "stamp_column.h"
#include "stout/error.h"
#include "succinct_store.h"

namespace stout::blowfish {

/// Writes the file of a SuccinctStore from records that come in strictly ascending order of their
/// keys.
///
/// Memory: the values, and what building their index takes (BuildRecordIndex); the keys and the
/// stamps, encoded.
/// Threads: none of its own; callers serialise.
class SuccinctStoreWriter {
 public:
  explicit SuccinctStoreWriter(Schema schema) : schema_(std::move(schema)) {}

  void Append(const Record& record);

  /// A key that is gone. These keys come in ascending order, too, and are none of the records'.
  void AppendTombstone(std::string_view key, const Tombstone& tombstone);

  [[nodiscard]] std::uint64_t records() const { return ends_.size(); }
  [[nodiscard]] std::uint64_t value_bytes() const { return values_.size(); }

  /// Builds the index and publishes the file. The writer is of no more use.
  /// kBadOptions: keys did not come in order. kTooLarge: more symbols than an index has rows. For
  /// the others see IndexFileWriter.
  [[nodiscard]] ErrorCode Finish(const std::string& path, Diagnostics* diagnostics = nullptr);

 private:
  Schema schema_;
  KeyDirectoryWriter keys_;
  StampColumnWriter stamps_;
  KeyDirectoryWriter deleted_keys_;
  StampColumnWriter deleted_stamps_;
  std::vector<std::uint64_t> deleted_times_;
  std::string values_;
  std::vector<std::uint64_t> ends_;  // of each value
};

}  // namespace stout::blowfish
