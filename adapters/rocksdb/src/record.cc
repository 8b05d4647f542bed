#include "record.h"

namespace stout::rocksdb_store {

void EncodeFixed64(std::uint64_t number, char* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
}

std::uint64_t DecodeFixed64(const char* bytes) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

rocksdb::Slice EncodeHeader(WriteKind kind, Stamp stamp, std::uint64_t now_ms, Header* header) {
  const bool deleted = kind == WriteKind::kDelete;
  (*header)[0] = kFormat;
  (*header)[1] = deleted ? 1 : 0;
  EncodeFixed64(stamp.epoch, header->data() + 2);
  EncodeFixed64(stamp.version, header->data() + 10);
  if (deleted) EncodeFixed64(now_ms, header->data() + kStampedBytes);
  return {header->data(), deleted ? kTombstoneBytes : kStampedBytes};
}

std::optional<Record> Decode(const rocksdb::Slice& bytes) {
  if (bytes.size() < kStampedBytes || bytes[0] != kFormat) return std::nullopt;
  Record record;
  record.stamp = {DecodeFixed64(bytes.data() + 2), DecodeFixed64(bytes.data() + 10)};
  switch (bytes[1]) {
    case 0:
      record.value = {bytes.data() + kStampedBytes, bytes.size() - kStampedBytes};
      return record;
    case 1:
      if (bytes.size() != kTombstoneBytes) return std::nullopt;
      record.deleted = true;
      record.deleted_at_ms = DecodeFixed64(bytes.data() + kStampedBytes);
      return record;
    default:
      return std::nullopt;
  }
}

}  // namespace stout::rocksdb_store
