#pragma once

#include <rocksdb/compaction_filter.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "record.h"

namespace stout::rocksdb_store {

// Milliseconds of Unix time: tombstones outlive the process, so they cannot use a steady clock.
[[nodiscard]] inline std::uint64_t UnixTimeMs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

// Lets compactions drop tombstones that are older than `ttl`. It is stateless, hence safe to share
// between RocksDB's compaction threads. Bytes that are not a record are kept, for a person to
// inspect.
class TombstoneFilter final : public rocksdb::CompactionFilter {
 public:
  explicit TombstoneFilter(Duration ttl)
      : ttl_ms_(
            static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(ttl).count())) {
  }

  const char* Name() const override { return "stout.TombstoneFilter"; }

  bool Filter(int, const rocksdb::Slice&, const rocksdb::Slice& bytes, std::string*,
              bool*) const override {
    const std::optional<Record> record = Decode(bytes);
    if (!record || !record->deleted) return false;
    const std::uint64_t now_ms = UnixTimeMs();  // May have been set back.
    return now_ms >= record->deleted_at_ms && now_ms - record->deleted_at_ms >= ttl_ms_;
  }

 private:
  const std::uint64_t ttl_ms_;
};

}  // namespace stout::rocksdb_store
