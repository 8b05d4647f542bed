#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "block_admission.h"
#include "database.h"
#include "key_locks.h"
#include "status_log.h"
#include "stout/adapters/rocksdb_store.h"

namespace stout {

// The work behind the calls: all of it blocks, and runs on the two pools.
class RocksDbStore::Engine {
 public:
  Engine(const RocksDbOptions& options, std::unique_ptr<rocksdb_store::Database> database);

  // Runs `call(true)` on a pool's thread, or `call(false)` now: too much is waiting.
  template <typename Call>
  void RunOnWriter(Call call) {
    Run(writers_, std::move(call));
  }
  template <typename Call>
  void RunOnReader(Call call) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    Run(readers_, [this, call = std::move(call)](bool admitted) mutable {
      reads_.fetch_sub(1, std::memory_order_relaxed);
      call(admitted);
    });
  }

  [[nodiscard]] WriteResult Write(const WriteBatch& batch) noexcept;
  [[nodiscard]] ReadResult Read(const ReadBatch& batch) noexcept;
  [[nodiscard]] Result<Epoch> NewEpoch() noexcept;
  [[nodiscard]] Errc Fence(const Scope& scope, Epoch epoch) noexcept;
  // Requires a cursor that ScanPage::FirstKey() accepts.
  [[nodiscard]] ScanResult Scan(const ScanRequest& request) noexcept;
  ErrorCode Compact();

  [[nodiscard]] rocksdb_store::BlockAdmission& block_admission() { return block_admission_; }

  // Reads that wait for a thread.
  [[nodiscard]] std::size_t reads_waiting() const { return reads_.load(std::memory_order_relaxed); }

  // Runs what waits, and ends the threads.
  void Join();

 private:
  template <typename Call>
  void Run(boost::asio::thread_pool& pool, Call call) {
    if (calls_.fetch_add(1, std::memory_order_relaxed) >= options_.max_queue) {
      calls_.fetch_sub(1, std::memory_order_relaxed);
      return call(false);
    }
    boost::asio::post(pool, [this, call = std::move(call)]() mutable {
      call(true);
      calls_.fetch_sub(1, std::memory_order_relaxed);
    });
  }

  [[nodiscard]] WriteResult TryWrite(const WriteBatch& batch);
  [[nodiscard]] ReadResult TryRead(const ReadBatch& batch);
  // False: the database could not be read.
  [[nodiscard]] bool ReadGroup(const ReadBatch& batch,
                               const rocksdb_store::BlockAdmission::Group& group,
                               ReadResult* result);
  [[nodiscard]] ScanResult TryScan(const ScanRequest& request);
  // Adds what is newer than the database has. False: the database could not be read.
  [[nodiscard]] bool Compare(const WriteBatch& batch, rocksdb::WriteBatch* updates,
                             WriteResult* result);
  // Returns what Fence answers without a write; nullopt if one is needed.
  [[nodiscard]] std::optional<Errc> CompareFence(const Scope& scope, Epoch epoch);
  // The epoch that the scope is fenced with, 0 if there is none; nothing: it could not be read.
  [[nodiscard]] std::optional<Epoch> FenceOf(const Scope& scope);
  [[nodiscard]] rocksdb::Status Commit(Epoch epoch, rocksdb::WriteBatch* updates,
                                       const rocksdb::WriteOptions& options);
  // Writes to the database. Logs a failure, and sets failed_.
  [[nodiscard]] rocksdb::Status Apply(const rocksdb::WriteOptions& options,
                                      rocksdb::WriteBatch* updates);

  // Keeps the database open while it is used. Not owned: there is none, try later.
  [[nodiscard]] std::shared_lock<std::shared_mutex> Use();
  // After a failed write. False: not yet.
  [[nodiscard]] bool Recover();
  [[nodiscard]] bool Reopen();

  const RocksDbOptions options_;
  rocksdb_store::StatusLog log_;
  rocksdb::WriteOptions write_options_;
  std::atomic<std::size_t> calls_{0};  // Waiting or running.
  std::atomic<std::size_t> reads_{0};  // of them reads and scans that no thread has begun
  rocksdb_store::KeyLocks key_locks_;
  rocksdb_store::BlockAdmission block_admission_;

  // Batches with a scope share it while they are written; a fence waits for them, and those that
  // come later wait at the gate for the fence.
  std::mutex fence_gate_;
  std::shared_mutex fence_mutex_;

  // The database is used under a shared lock and replaced under an exclusive one, which
  // `reopening_` lets in before new users.
  std::shared_mutex database_mutex_;
  std::atomic<bool> reopening_{false};
  std::unique_ptr<rocksdb_store::Database> database_;  // Null if it could not be opened again.
  std::mutex recovery_mutex_;
  std::atomic<bool> failed_{false};  // A write has failed since the database was opened.

  // The durable maximum of the epochs given out or seen in a write. Raised under the mutex, which
  // is held while the higher one is written, or a lower one could be written after it.
  std::mutex epoch_mutex_;
  std::atomic<Epoch> max_epoch_;
  Epoch max_tried_epoch_ = 0;  // Under the mutex: a failed write may be in the log all the same.

  boost::asio::thread_pool writers_;
  boost::asio::thread_pool readers_;
};

}  // namespace stout
