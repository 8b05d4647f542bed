#include "database.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "info_log.h"
#include "lock_holder.h"
#include "record.h"
#include "slow_log.h"
#include "status_log.h"

namespace stout::rocksdb_store {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;

rocksdb::DBOptions MakeDbOptions(const std::string& path, bool direct_reads, bool create) {
  rocksdb::DBOptions options;
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  // The meta family is hardly ever written: flushed alone it would hold back the log for long.
  options.atomic_flush = true;
  // Deleting old files is left to the background, not to the thread that answers a read.
  options.avoid_unnecessary_blocking_io = true;
  options.max_background_jobs = 4;
  // Table files are synced as they grow, or one large sync would stall those of the log.
  options.bytes_per_sync = std::size_t{1} << 20;
  options.info_log = MakeInfoLog(path);
  options.use_direct_reads = direct_reads;
  return options;
}

rocksdb::ColumnFamilyOptions MakeRecordOptions(const RocksDbOptions& options,
                                               const rocksdb::CompactionFilter* filter,
                                               std::shared_ptr<rocksdb::Cache> block_cache) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.memtable_bytes;
  family.max_write_buffer_number = 4;
  family.compaction_filter = filter;
  family.level_compaction_dynamic_level_bytes = true;
  // Each write looks its key up, and in a growing store mostly in vain: filters answer that.
  family.memtable_prefix_bloom_size_ratio = 0.02;
  family.memtable_whole_key_filtering = true;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = std::move(block_cache);
  table.block_size = options.block_bytes;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const std::vector<rocksdb::CompressionType> built_in = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::count(built_in.begin(), built_in.end(), rocksdb::kLZ4Compression) > 0;
  family.compression = lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  return family;
}

// Returns true if opening `path` would take over a database of another program. Our compaction
// filter could drop records of it that look like tombstones.
bool IsForeign(const std::string& path) {
  std::vector<std::string> families;
  if (!rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &families).ok()) {
    return false;  // No database, or one that will not open.
  }
  if (std::count(families.begin(), families.end(), kMetaFamily) > 0) return false;
  if (families.size() > 1) return true;
  // Ours if empty: a crash may have come between the creation of the two families.
  rocksdb::DB* raw = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(rocksdb::Options(), path, &raw).ok()) return true;
  const std::unique_ptr<rocksdb::DB> db(raw);
  const std::unique_ptr<rocksdb::Iterator> first(db->NewIterator(rocksdb::ReadOptions()));
  first->SeekToFirst();
  return first->Valid() || !first->status().ok();
}

ErrorCode FailToOpen(const std::string& path, const Status& status, Diagnostics* diagnostics) {
  const std::string text = status.ToString();
  if (text.find("lock hold by current process") != text.npos) {
    return Fail(Errc::kTransient,
                fmt::format("rocksdb:{}: this process has the database open already", path),
                diagnostics);
  }
  if (text.find("While lock file") != text.npos) {
    return Fail(Errc::kTransient,
                fmt::format("rocksdb:{}: {} has the database open; stop it, or use another path",
                            path, DescribeLockHolder(path)),
                diagnostics);
  }
  if (status.IsCorruption()) {
    return Fail(Errc::kCorrupt,
                fmt::format("rocksdb:{}: the database is damaged: {}; {}", path, text,
                            Remedy(status, path)),
                diagnostics);
  }
  return Fail(Errc::kBadUrl,
              fmt::format("rocksdb:{}: cannot open: {}; {}", path, text, Remedy(status, path)),
              diagnostics);
}

}  // namespace

Result<std::unique_ptr<Database>> Database::Open(const RocksDbOptions& options,
                                                 Diagnostics* diagnostics,
                                                 const std::string& identity) {
  const bool create = identity.empty();
  std::error_code ec;
  if (create) std::filesystem::create_directories(options.path, ec);
  if (ec) {
    return Fail(
        Errc::kBadUrl,
        fmt::format("rocksdb:{}: cannot create the directory: {}", options.path, ec.message()),
        diagnostics);
  }
  // RocksDB would create the directory all the same.
  if (!create && !std::filesystem::exists(options.path + "/CURRENT", ec)) {
    return Fail(Errc::kTransient,
                fmt::format("rocksdb:{}: the database has disappeared; mount its volume, or put it "
                            "back",
                            options.path),
                diagnostics);
  }
  if (IsForeign(options.path)) {
    return Fail(Errc::kBadUrl,
                fmt::format("rocksdb:{}: holds a database of another program; use another path",
                            options.path),
                diagnostics);
  }
  std::unique_ptr<Database> database(new Database(options.tombstone_ttl));
  if (const Status status = database->OpenFamilies(options, create); !status.ok()) {
    return FailToOpen(options.path, status, diagnostics);
  }
  if (!create && database->identity() != identity) {
    return Fail(Errc::kBadUrl,
                fmt::format("rocksdb:{}: another database has taken its place; put the former one "
                            "back, or restart the program to use this one",
                            options.path),
                diagnostics);
  }
  if (const ErrorCode error = database->ReadMeta(options.path, diagnostics)) return error;
  return database;
}

Status Database::OpenFamilies(const RocksDbOptions& options, bool create) {
  // After a full disk, RocksDB resumes once there is space for the largest memtable.
  rocksdb::ColumnFamilyOptions meta;
  meta.write_buffer_size = std::min<std::size_t>(options.memtable_bytes, std::size_t{1} << 20);
  // The pool has the indexes and filters, and also the blocks that were used again: with a pool,
  // RocksDB's cache is a segmented LRU.
  block_cache_ = rocksdb::NewLRUCache(options.cache_bytes, options.cache_shard_bits,
                                      /*strict_capacity_limit=*/false, options.cache_pool);
  const std::vector<ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName,
       MakeRecordOptions(options, &tombstone_filter_, block_cache_)},
      {kMetaFamily, meta}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  rocksdb::DBOptions db_options = MakeDbOptions(options.path, options.direct_reads, create);
  if (options.sync_delay > Duration::zero()) {
    slow_env_ =
        rocksdb::NewCompositeEnv(MakeSlowLog(rocksdb::FileSystem::Default(), options.sync_delay));
    db_options.env = slow_env_.get();
  }
  Status status = rocksdb::DB::Open(db_options, options.path, families, &handles, &db);
  if (!status.ok()) return status;
  db_.reset(db);
  records_ = handles[0];
  meta_ = handles[1];
  return db_->GetDbIdentity(identity_);
}

ErrorCode Database::ReadMeta(const std::string& path, Diagnostics* diagnostics) {
  std::string format;
  Status status = db_->Get(rocksdb::ReadOptions(), meta_, kFormatKey, &format);
  if (status.IsNotFound()) {
    rocksdb::WriteOptions sync;
    sync.sync = true;
    format = kFormatValue;
    status = db_->Put(sync, meta_, kFormatKey, format);
  }
  if (!status.ok()) return FailToOpen(path, status, diagnostics);
  if (format != kFormatValue) {
    return Fail(Errc::kBadUrl,
                fmt::format("rocksdb:{}: written in format '{}', this program reads '{}'", path,
                            format, kFormatValue),
                diagnostics);
  }
  std::string max_epoch;
  status = db_->Get(rocksdb::ReadOptions(), meta_, kMaxEpochKey, &max_epoch);
  if (status.IsNotFound()) return {};
  if (status.ok() && max_epoch.size() != 8) status = Status::Corruption("bad epoch");
  if (!status.ok()) return FailToOpen(path, status, diagnostics);
  max_epoch_at_open_ = DecodeFixed64(max_epoch.data());
  return {};
}

Database::~Database() {
  if (db_ == nullptr) return;
  db_->DestroyColumnFamilyHandle(records_);
  db_->DestroyColumnFamilyHandle(meta_);
}

}  // namespace stout::rocksdb_store
