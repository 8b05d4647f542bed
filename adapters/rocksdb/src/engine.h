#pragma once

#include <rocksdb/write_batch.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "block_admission.h"
#include "database.h"
#include "key_locks.h"
#include "status_log.h"
#include "stout/adapters/rocksdb_store.h"
#include "stout/adapters/waiting_requests.h"

namespace stout::rocksdb_store {
class Lookup;
}  // namespace stout::rocksdb_store

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

  // Writes on a pool's thread, together with the batches that wait, unless it is to be alone.
  void Write(const WriteBatch& batch, WriteHandler handler);
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
  using Batches = rocksdb_store::KeyLocks::Guard::Batches;
  struct Request {
    const WriteBatch* batch;
    std::size_t bytes;
    bool alone = false;  // if it must be, it goes to WriteAlone() instead
  };
  using Writes = WaitingRequests<Request, WriteResult>;

  // Guesses. A small batch waits for all of its group, so a group must not be large.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;
  static constexpr std::size_t kBytesOfItem = 256;  // for its look-up, beside its own bytes

  // One write of RocksDB.
  struct Group {
    explicit Group(Batches joined) : batches(joined), results(joined.size()) {}

    const Batches batches;
    std::vector<WriteResult> results;
    rocksdb::WriteBatch updates;
    std::vector<std::size_t> written;  // the batches that have updates
    Epoch epoch = 0;                   // the highest of the batches that are kOk
  };

  [[nodiscard]] bool Admit() {
    if (calls_.fetch_add(1, std::memory_order_relaxed) < options_.max_queue) return true;
    calls_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  template <typename Call>
  void Run(boost::asio::thread_pool& pool, Call call) {
    if (!Admit()) return call(false);
    boost::asio::post(pool, [this, call = std::move(call)]() mutable {
      call(true);
      calls_.fetch_sub(1, std::memory_order_relaxed);
    });
  }

  [[nodiscard]] WriteResult WriteAlone(const WriteBatch& batch) noexcept;
  // Calls a thread for the batches that wait, if no group is being committed. Otherwise they go on
  // waiting, because their own commit would wait for that one.
  void CallGroupWriter();
  void WriteWaiting();
  // Writes a group, and returns it with its answers. The rest stays in `writes`.
  [[nodiscard]] Writes::List WriteSome(Writes::List* writes);
  // Writes the longest prefix of `batches` in which no two batches have a key in common. Returns
  // their results. If the database cannot be used now, returns kTransient for all batches.
  [[nodiscard]] std::vector<WriteResult> WriteGroup(Batches batches);
  // Adds to the updates what is newer than the database has.
  void Compare(Group* group);
  [[nodiscard]] rocksdb::Status CommitGroup(Group* group);
  [[nodiscard]] Errc CheckFence(const WriteBatch& batch);
  // `first`: the place in `current` of the batch's first item.
  [[nodiscard]] WriteResult CompareStamps(const WriteBatch& batch,
                                          const rocksdb_store::Lookup& current, std::size_t first,
                                          rocksdb::WriteBatch* updates);
  [[nodiscard]] ReadResult TryRead(const ReadBatch& batch);
  // False: the database could not be read.
  [[nodiscard]] bool ReadGroup(const ReadBatch& batch,
                               const rocksdb_store::BlockAdmission::Group& group,
                               ReadResult* result);
  [[nodiscard]] ScanResult TryScan(const ScanRequest& request);
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
  const std::string identity_;  // of the database
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

  Writes writes_;
  std::atomic<std::size_t> commits_{0};  // of groups, under way
  boost::asio::thread_pool writers_;
  boost::asio::thread_pool readers_;
};

}  // namespace stout
