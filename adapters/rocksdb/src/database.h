#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <string>

#include "stout/adapters/rocksdb_store.h"
#include "stout/error.h"
#include "tombstone_filter.h"

namespace stout::rocksdb_store {

inline constexpr char kMetaFamily[] = "stout.meta";
inline constexpr char kFormatKey[] = "format";
inline constexpr char kFormatValue[] = "1";
inline constexpr char kMaxEpochKey[] = "max_epoch";  // A fixed64.
inline constexpr char kFencePrefix[] = "fence/";     // And a scope: its epoch, a fixed64.

// An open RocksDB database of ours: records in the default column family, and in "stout.meta" the
// format, the largest epoch given out or seen, and fences. A family of their own leaves
// applications all keys, and needs no prefix on each.
class Database {
 public:
  // Creates the database if it is missing. If `identity` is not empty, it creates nothing: the
  // database must exist and have this identity().
  [[nodiscard]] static Result<std::unique_ptr<Database>> Open(const RocksDbOptions& options,
                                                              Diagnostics* diagnostics,
                                                              const std::string& identity = {});
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  rocksdb::DB* operator->() const { return db_.get(); }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* records() const { return records_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* meta() const { return meta_; }
  // True: a block that comes displaces another. A shard with large blocks is full before all of its
  // bytes are used. A cache that was full once stays so.
  [[nodiscard]] bool block_cache_is_full() const {
    if (!was_full_ && block_cache_->GetUsage() >= block_cache_->GetCapacity() / 4 * 3)
      was_full_ = true;
    return was_full_;
  }
  // RocksDB's random name of the database.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  // As it was when the database was opened.
  [[nodiscard]] Epoch max_epoch_at_open() const { return max_epoch_at_open_; }

 private:
  explicit Database(Duration tombstone_ttl) : tombstone_filter_(tombstone_ttl) {}

  rocksdb::Status OpenFamilies(const RocksDbOptions& options, bool create);
  ErrorCode ReadMeta(const std::string& path, Diagnostics* diagnostics);

  const TombstoneFilter tombstone_filter_;  // Outlives db_.
  std::unique_ptr<rocksdb::Env> slow_env_;  // With sync_delay only. Outlives db_.
  std::shared_ptr<rocksdb::Cache> block_cache_;
  mutable std::atomic<bool> was_full_ = false;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* records_ = nullptr;  // Both owned; freed before db_.
  rocksdb::ColumnFamilyHandle* meta_ = nullptr;
  std::string identity_;
  Epoch max_epoch_at_open_ = 0;
};

}  // namespace stout::rocksdb_store
