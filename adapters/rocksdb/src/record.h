#pragma once

#include <rocksdb/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stout/core/batch.h"

namespace stout::rocksdb_store {

// The database's record of a key: a header, then the value. Integers are little-endian.
//
//   offset  bytes
//   0       1      format, kFormat
//   1       1      kind: 0 put, 1 delete
//   2       8      epoch
//   10      8      version
//   18      8      a delete: when, in ms of Unix time; nothing follows
//   18      ...    a put: the value
struct Record {
  Stamp stamp;
  bool deleted = false;
  std::uint64_t deleted_at_ms = 0;
  rocksdb::Slice value;  // Into the bytes that were decoded.
};

inline constexpr char kFormat = 1;
inline constexpr std::size_t kStampedBytes = 18;
inline constexpr std::size_t kTombstoneBytes = kStampedBytes + 8;

using Header = std::array<char, kTombstoneBytes>;

// Fills `header` and answers the part of it to store before the value.
[[nodiscard]] rocksdb::Slice EncodeHeader(WriteKind kind, Stamp stamp, std::uint64_t now_ms,
                                          Header* header);

// Returns nullopt if the bytes are not a record.
[[nodiscard]] std::optional<Record> Decode(const rocksdb::Slice& bytes);

void EncodeFixed64(std::uint64_t number, char* bytes);
[[nodiscard]] std::uint64_t DecodeFixed64(const char* bytes);

}  // namespace stout::rocksdb_store
