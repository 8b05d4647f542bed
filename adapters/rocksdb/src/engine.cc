#include "engine.h"

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "lookup.h"
#include "record.h"
#include "stout/adapters/scan_page.h"

namespace stout {

using rocksdb_store::Database;
using rocksdb_store::Decode;
using rocksdb_store::EncodeFixed64;
using rocksdb_store::Lookup;
using rocksdb_store::Record;

namespace {

rocksdb::Status PutEpoch(const Database& database, const std::string& key, Epoch epoch,
                         rocksdb::WriteBatch* updates) {
  char encoded[8];
  EncodeFixed64(epoch, encoded);
  return updates->Put(database.meta(), key, rocksdb::Slice(encoded, sizeof encoded));
}

// Always syncs, independent of the option. Otherwise an epoch could be given out twice, or a fence
// be forgotten, and former owners would not be shut out.
rocksdb::WriteOptions DurableWrite() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

// Returns true if the directory still has this database. Another one may have taken its place.
bool IsInPlace(const std::string& path, const std::string& identity) {
  std::ifstream file(path + "/IDENTITY");
  std::string first;
  std::error_code ec;  // a disk that fails is no exception here
  return std::getline(file, first) && first == identity &&
         std::filesystem::exists(path + "/CURRENT", ec);
}

}  // namespace

RocksDbStore::Engine::Engine(const RocksDbOptions& options, std::unique_ptr<Database> database)
    : options_(options),
      identity_(database->identity()),
      log_(options.path),
      block_admission_(options.cache_bytes, options.block_bytes),
      database_(std::move(database)),
      max_epoch_(database_->max_epoch_at_open()),
      writes_({std::numeric_limits<std::size_t>::max(), kMaxBytes, {Errc::kTransient, {}}}),
      writers_(options.threads),
      readers_(options.read_threads) {
  write_options_.sync = options.sync;
}

void RocksDbStore::Engine::Join() {
  writers_.join();
  readers_.join();
}

rocksdb::Status RocksDbStore::Engine::Commit(Epoch epoch, rocksdb::WriteBatch* updates,
                                             const rocksdb::WriteOptions& options) {
  std::unique_lock epoch_lock(epoch_mutex_, std::defer_lock);
  if (epoch > max_epoch_) epoch_lock.lock();
  const bool raises = epoch > max_epoch_;
  if (raises) {
    max_tried_epoch_ = std::max(max_tried_epoch_, epoch);
    rocksdb::Status status = PutEpoch(*database_, rocksdb_store::kMaxEpochKey, epoch, updates);
    if (!status.ok()) return status;
  } else if (epoch_lock.owns_lock()) {
    epoch_lock.unlock();
  }
  if (updates->Count() == 0) return rocksdb::Status::OK();
  rocksdb::Status status = Apply(options, updates);
  if (raises && status.ok()) max_epoch_ = epoch;
  return status;
}

rocksdb::Status RocksDbStore::Engine::Apply(const rocksdb::WriteOptions& options,
                                            rocksdb::WriteBatch* updates) {
  rocksdb::Status status = (*database_)->Write(options, updates);
  if (status.ok()) {
    log_.Wrote();
  } else {
    failed_ = true;
    log_.WriteFailed(status);
  }
  return status;
}

std::shared_lock<std::shared_mutex> RocksDbStore::Engine::Use() {
  if (reopening_) return {};
  std::shared_lock lock(database_mutex_);
  if (database_ == nullptr) lock.unlock();
  return lock;
}

// RocksDB takes no writes after an error until it has recovered: by itself, some seconds after a
// full disk has space again, or because Resume() tells it to. It serves reads meanwhile.
//
// Then it is opened anew, as after a crash, for two reasons. RocksDB may go on with the log file
// that failed (up to 7.8 at least, if the memtable was empty), and fail again or, built with
// assertions, abort. An error that RocksDB deems fatal ends in no other way.
bool RocksDbStore::Engine::Recover() {
  const std::lock_guard lock(recovery_mutex_);
  if (!failed_) return true;  // Another thread was quicker.
  std::shared_lock use = Use();
  // Resume() writes files by their paths.
  if (use.owns_lock() && IsInPlace(options_.path, identity_)) {
    const rocksdb::Status status = (*database_)->Resume();
    if (!status.ok() && status.severity() < rocksdb::Status::kFatalError) {
      log_.WriteFailed(status);
      return false;
    }
  }
  if (use.owns_lock()) use.unlock();
  return Reopen();
}

// Creates nothing. If the disk failed and its volume is gone, a new database would lack all data,
// epochs and fences.
bool RocksDbStore::Engine::Reopen() {
  struct Reset {
    ~Reset() { flag = false; }
    std::atomic<bool>& flag;
  };
  const Reset at_end{reopening_};
  reopening_ = true;
  const std::lock_guard lock(database_mutex_);
  database_.reset();
  Diagnostics why;
  auto database = Database::Open(options_, &why, identity_);
  if (!database) {
    log_.OpenFailed(database.error(), why.message);
    return false;
  }
  database_ = *std::move(database);
  max_epoch_ = database_->max_epoch_at_open();
  failed_ = false;
  return true;
}

ReadResult RocksDbStore::Engine::Read(const ReadBatch& batch) noexcept {
  try {
    return TryRead(batch);
  } catch (const std::bad_alloc&) {
    return {Errc::kTransient, {}};
  }
}

ReadResult RocksDbStore::Engine::TryRead(const ReadBatch& batch) {
  const std::shared_lock use = Use();
  if (!use.owns_lock()) return {Errc::kTransient, {}};
  ReadResult result;
  result.states.resize(batch.keys.size());
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  const auto is_full = [this] { return database_->block_cache_is_full(); };
  for (const auto& group : block_admission_.Groups(batch, is_full)) {
    if (!ReadGroup(batch, group, &result)) return {Errc::kTransient, {}};
  }
  return result;
}

bool RocksDbStore::Engine::ReadGroup(const ReadBatch& batch,
                                     const rocksdb_store::BlockAdmission::Group& group,
                                     ReadResult* result) {
  rocksdb::ReadOptions options;
  options.fill_cache = group.fills;
  const std::uint64_t& blocks_read = rocksdb::get_perf_context()->block_read_count;
  const std::uint64_t before = blocks_read;
  const Lookup current(
      *database_, group.keys, [&](std::size_t i) -> const std::string& { return batch.keys[i]; },
      options);
  const std::uint64_t misses = blocks_read - before;
  std::vector<std::size_t> bytes;
  for (std::size_t at = 0; at < group.keys.size(); ++at) bytes.push_back(current.bytes(at).size());
  block_admission_.OnRead(batch, group, bytes, misses);
  for (std::size_t at = 0; at < group.keys.size(); ++at) {
    const rocksdb::Status& status = current.status(at);
    if (status.IsNotFound()) continue;
    if (!status.ok()) log_.ReadFailed(status);
    if (!status.ok() && !status.IsCorruption()) return false;
    StoredState& state = result->states[group.keys[at]];
    const std::optional<Record> record = status.ok() ? Decode(current.bytes(at)) : std::nullopt;
    if (!record) {
      state.errc = Errc::kCorrupt;
      continue;
    }
    state.found = !record->deleted;
    state.stamp = record->stamp;
    if (batch.values) state.value.assign(record->value.data(), record->value.size());
  }
  return true;
}

ScanResult RocksDbStore::Engine::Scan(const ScanRequest& request) noexcept {
  try {
    return TryScan(request);
  } catch (const std::bad_alloc&) {
    return {Errc::kTransient, {}, {}};
  }
}

// RocksDB orders keys by unsigned bytes, and the iterator sees one state of the database.
ScanResult RocksDbStore::Engine::TryScan(const ScanRequest& request) {
  const std::shared_lock use = Use();
  if (!use.owns_lock()) return {Errc::kTransient, {}, {}};
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // A scan must not displace the blocks that reads need.
  const std::unique_ptr<rocksdb::Iterator> at(
      (*database_)->NewIterator(options, database_->records()));
  ScanPage page(request.limit);
  for (at->Seek(*ScanPage::FirstKey(request)); at->Valid() && !page.full(); at->Next()) {
    StoredState state;
    if (const std::optional<Record> record = Decode(at->value())) {
      state.found = !record->deleted;
      state.stamp = record->stamp;
      if (request.values) state.value.assign(record->value.data(), record->value.size());
    } else {
      state.errc = Errc::kCorrupt;
    }
    page.Add(at->key().ToString(), std::move(state));
  }
  const rocksdb::Status status = at->status();
  if (status.ok()) return page.TakeOrdered();
  log_.ReadFailed(status);
  return {status.IsCorruption() ? Errc::kCorrupt : Errc::kTransient, {}, {}};
}

Result<Epoch> RocksDbStore::Engine::NewEpoch() noexcept {
  try {
    if (failed_ && !Recover()) return Errc::kTransient;
    const std::shared_lock use = Use();
    if (!use.owns_lock()) return Errc::kTransient;
    const std::lock_guard lock(epoch_mutex_);
    const Epoch epoch = std::max(max_epoch_.load(), max_tried_epoch_) + 1;
    rocksdb::WriteBatch update;
    rocksdb::Status status = PutEpoch(*database_, rocksdb_store::kMaxEpochKey, epoch, &update);
    if (status.ok()) status = Apply(DurableWrite(), &update);
    if (status.ok()) {
      max_epoch_ = epoch;
      return epoch;
    }
  } catch (const std::bad_alloc&) {
  }
  return Errc::kTransient;  // Should it have been written after all, a number is skipped.
}

Errc RocksDbStore::Engine::Fence(const Scope& scope, Epoch epoch) noexcept {
  try {
    const std::lock_guard gate(fence_gate_);
    const std::lock_guard lock(fence_mutex_);
    // A look-up finds only what is durable, so an owner can prove itself on a full disk.
    std::optional<Errc> answer = CompareFence(scope, epoch);
    if (failed_ && (!answer || *answer == Errc::kTransient)) {
      // Opening the database anew settles whether its log has a batch whose write has failed, and
      // serves again after an attempt to open it that failed.
      if (!Recover()) return Errc::kTransient;
      answer = CompareFence(scope, epoch);
    }
    if (answer) return *answer;
    const std::shared_lock use = Use();
    if (!use.owns_lock()) return Errc::kTransient;
    rocksdb::WriteBatch update;
    rocksdb::Status status =
        PutEpoch(*database_, rocksdb_store::kFencePrefix + scope, epoch, &update);
    if (status.ok()) status = Commit(epoch, &update, DurableWrite());
    return status.ok() ? Errc::kOk : Errc::kUnknown;
  } catch (const std::bad_alloc&) {
    return Errc::kUnknown;
  }
}

std::optional<Errc> RocksDbStore::Engine::CompareFence(const Scope& scope, Epoch epoch) {
  const std::shared_lock use = Use();
  if (!use.owns_lock()) return Errc::kTransient;
  const std::optional<Epoch> fence = FenceOf(scope);
  if (!fence) return Errc::kTransient;
  if (*fence > epoch) return Errc::kFenced;
  if (*fence == epoch) return Errc::kOk;
  return std::nullopt;
}

std::optional<Epoch> RocksDbStore::Engine::FenceOf(const Scope& scope) {
  const std::string key = rocksdb_store::kFencePrefix + scope;
  std::string encoded;
  rocksdb::Status status =
      (*database_)->Get(rocksdb::ReadOptions(), database_->meta(), key, &encoded);
  if (status.IsNotFound()) return 0;
  if (status.ok() && encoded.size() != 8) status = rocksdb::Status::Corruption("bad fence");
  if (!status.ok()) {
    log_.ReadFailed(status);
    return std::nullopt;
  }
  return rocksdb_store::DecodeFixed64(encoded.data());
}

ErrorCode RocksDbStore::Engine::Compact() {
  const std::shared_lock use = Use();
  if (!use.owns_lock()) return Errc::kTransient;
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  const rocksdb::Status status =
      (*database_)->CompactRange(options, database_->records(), nullptr, nullptr);
  if (status.ok()) return {};
  log_.WriteFailed(status);
  return Errc::kTransient;
}

}  // namespace stout
