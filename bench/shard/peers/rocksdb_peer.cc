#include "shard/peers/rocksdb_peer.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "shard/number_key.h"

namespace stout::bench::shard {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kRecordBytes = 4;
constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
constexpr double kBloomBits = 10;  // RocksDB's usual choice: 1 % of what is not there is looked for

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }

/// The highest byte first.
void AppendBigEndian(std::uint64_t number, std::size_t bytes, std::string& out) {
  out += View(ToKey(number)).substr(sizeof(NumberKey) - bytes);
}

/// Prefix of all index keys of a value, and of no other's: lengths differ if one value begins with
/// another.
void AppendPrefix(std::size_t attribute, std::string_view value, std::string& out) {
  AppendBigEndian(attribute, 1, out);
  AppendBigEndian(value.size(), 4, out);
  out += value;
}

RecordNumber RecordOf(rocksdb::Slice index_key) {
  index_key.remove_prefix(index_key.size() - kRecordBytes);
  RecordNumber record = 0;
  for (std::size_t i = 0; i < kRecordBytes; ++i) {
    record = record << 8 | static_cast<unsigned char>(index_key[i]);
  }
  return record;
}

class RocksDbPeer final : public ShardPeer {
 public:
  explicit RocksDbPeer(const RocksDbPeerOptions& options)
      : options_(options), cache_(rocksdb::NewLRUCache(options.cache_bytes)) {
    std::filesystem::remove_all(options_.directory);
  }
  ~RocksDbPeer() override {
    Close();
    std::error_code ignored;
    std::filesystem::remove_all(options_.directory, ignored);
  }

  [[nodiscard]] std::string Name() const override { return options_.name; }

  void Build(RecordSource& records) override {
    Open();
    const Schema& schema = records.schema();
    searchable_ = schema.size() > 1;
    rocksdb::WriteBatch batch;
    std::string index_key;
    RecordNumber number = 0;
    records.Rewind();
    while (const auto record = records.Next()) {
      batch.Put(values_, ToSlice(record->key), ToSlice(record->value));
      schema.Split(record->value, [&](std::size_t attribute, std::string_view value) {
        if (!searchable_) return;
        index_key.clear();
        AppendPrefix(attribute, value, index_key);
        AppendBigEndian(number, kRecordBytes, index_key);
        batch.Put(index_, ToSlice(index_key), rocksdb::Slice());
      });
      ++number;
      if (batch.GetDataSize() > kBatchBytes) Write(batch);
    }
    Write(batch);
    Compact();
  }

  // Values without attributes are not worth an index, which would have each value once more.
  [[nodiscard]] bool CanSearch() const override { return searchable_; }

  bool Get(std::string_view key, std::string& value) override {
    const rocksdb::Status status = database_->Get({}, values_, ToSlice(key), &value);
    if (status.IsNotFound()) return false;
    Check(status);
    return true;
  }

  void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) override {
    keys_.clear();
    for (const std::string_view key : keys) keys_.push_back(ToSlice(key));
    found_.resize(keys.size());
    statuses_.resize(keys.size());
    database_->MultiGet({}, values_, keys.size(), keys_.data(), found_.data(), statuses_.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Check(statuses_[i]);
      values[i].assign(found_[i].data(), found_[i].size());
      found_[i].Reset();
    }
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    records.clear();
    VisitIndex(attribute, value, [&](rocksdb::Slice key) { records.push_back(RecordOf(key)); });
  }

  std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    std::uint64_t count = 0;
    VisitIndex(attribute, value, [&](rocksdb::Slice) { ++count; });
    return count;
  }

  [[nodiscard]] bool CanGrep() const override { return true; }
  void Grep(std::string_view text, std::vector<std::string>& keys) override {
    keys.clear();
    const std::unique_ptr<rocksdb::Iterator> at(database_->NewIterator({}, values_));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      if (at->value().ToStringView().find(text) != std::string_view::npos) {
        keys.push_back(at->key().ToString());
      }
    }
    Check(at->status());
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    space.Add("files, values", Property(values_, rocksdb::DB::Properties::kLiveSstFilesSize));
    space.Add("files, index", Property(index_, rocksdb::DB::Properties::kLiveSstFilesSize));
    space.Add("block cache", Property(values_, rocksdb::DB::Properties::kBlockCacheUsage));
    for (rocksdb::ColumnFamilyHandle* const family : {values_, index_}) {
      const std::string name = family == values_ ? "values" : "index";
      space.Add("tables, " + name, TableBytes(family));
      space.Add("memtables, " + name,
                Property(family, rocksdb::DB::Properties::kCurSizeAllMemTables));
    }
    return space;
  }

 private:
  static void Check(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(fmt::format("rocksdb: {}", status.ToString()));
  }

  // All at once, and compacted when all is there.
  void Open() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.compression = rocksdb::kZSTD;
    options.PrepareForBulkLoad();
    rocksdb::BlockBasedTableOptions table;
    table.block_size = kBlockBytes;
    table.block_cache = cache_;
    // Iterators use no filter, so the index has none.
    rocksdb::ColumnFamilyOptions index = options;
    index.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBits));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    std::filesystem::create_directories(options_.directory);
    rocksdb::DB* database = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    Check(rocksdb::DB::Open(options, options_.directory,
                            {{rocksdb::kDefaultColumnFamilyName, options}, {"index", index}},
                            &families, &database));
    database_.reset(database);
    values_ = families[0];
    index_ = families[1];
  }

  void Close() {
    if (!database_) return;
    for (rocksdb::ColumnFamilyHandle* const family : {values_, index_}) {
      (void)database_->DestroyColumnFamilyHandle(family);
    }
    database_.reset();
  }

  void Write(rocksdb::WriteBatch& batch) {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    Check(database_->Write(options, &batch));
    batch.Clear();
  }

  void Compact() {
    for (rocksdb::ColumnFamilyHandle* const family : {values_, index_}) {
      Check(database_->Flush({}, family));
      Check(database_->CompactRange({}, family, nullptr, nullptr));
    }
  }

  template <typename Visit>
  void VisitIndex(std::size_t attribute, std::string_view value, Visit visit) {
    prefix_.clear();
    AppendPrefix(attribute, value, prefix_);
    const std::unique_ptr<rocksdb::Iterator> at(database_->NewIterator({}, index_));
    for (at->Seek(ToSlice(prefix_)); at->Valid() && at->key().starts_with(ToSlice(prefix_));
         at->Next()) {
      visit(at->key());
    }
    Check(at->status());
  }

  // Memory of the open tables. Their filters and indexes count as parts of the files.
  [[nodiscard]] std::uint64_t TableBytes(rocksdb::ColumnFamilyHandle* family) const {
    rocksdb::TablePropertiesCollection tables;
    Check(database_->GetPropertiesOfAllTables(family, &tables));
    std::uint64_t in_files = 0;
    for (const auto& [file, table] : tables) in_files += table->filter_size + table->index_size;
    const auto bytes = Property(family, rocksdb::DB::Properties::kEstimateTableReadersMem);
    return bytes - std::min(bytes, in_files);
  }

  [[nodiscard]] std::uint64_t Property(rocksdb::ColumnFamilyHandle* family,
                                       const std::string& name) const {
    std::uint64_t number = 0;
    if (!database_->GetIntProperty(family, name, &number)) {
      throw std::runtime_error("rocksdb: no property " + name);
    }
    return number;
  }

  const RocksDbPeerOptions options_;
  const std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::ColumnFamilyHandle* values_ = nullptr;  // of the database, as the next
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  std::string prefix_;
  std::vector<rocksdb::Slice> keys_;  // of GetMany, as the next
  std::vector<rocksdb::PinnableSlice> found_;
  std::vector<rocksdb::Status> statuses_;
  bool searchable_ = true;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeRocksDbPeer(const RocksDbPeerOptions& options) {
  return std::make_unique<RocksDbPeer>(options);
}

}  // namespace stout::bench::shard
