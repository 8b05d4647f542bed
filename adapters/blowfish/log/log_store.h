#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_recovery.h"
#include "blowfish/log/log_table.h"
#include "blowfish/log/log_writer.h"
#include "stout/core/batch.h"
#include "stout/store.h"

namespace stout::blowfish {

struct LogStoreOptions {
  std::uint64_t shard = 0;  ///< Whose log it is; a log of another is refused.
  Schema schema;
  /// The first log file that a compaction has not taken: `FrozenLog::through` + 1 of the last one;
  /// 0: none has been taken.
  std::uint64_t first_sequence = 0;
  /// The stamp that the older stores have of a key, tombstones included: writes are compared with
  /// it. Called by Write(). Empty: there are none.
  std::function<std::optional<Stamp>(KeyView)> older_stamp;
  /// Called before a put or a delete enters the table, also by Open(), with what the table has of
  /// the key, if it has. It must not call the store. Empty: there is no call.
  std::function<void(const Operation&, const LogEntry* before)> on_apply;
  /// As LogWriter::Options.
  std::function<void()> wake;
  bool own_thread = true;
  /// Log bytes that may wait for the disk, in (0, kMaxPayloadBytes / 2]. A batch counts as half of
  /// this at most, so a larger one has room as well, and does not wait until nothing else waits.
  std::size_t max_waiting_bytes = std::size_t{64} << 20;
  /// Log bytes of a batch, in (0, kMaxPayloadBytes / 2]; a larger one is kTooLarge.
  std::size_t max_batch_bytes = kMaxPayloadBytes / 2;
  /// Memory of the table, in (0, LogTable::kMaxBytes], above which writes are kTransient: the
  /// compaction does not keep up. Also bounds the time of a recovery.
  std::size_t max_table_bytes = std::size_t{1} << 30;
  /// Log bytes of the fences of all scopes, about: a fence of a further scope is kRefused. They
  /// stay in memory, and each Freeze() writes them anew.
  std::size_t max_fence_bytes = std::size_t{16} << 20;
  std::uint64_t seed = 0;  ///< seed of the files' nonces; 0: drawn from the system
};

/// A stretch of the log for a compaction to take: what was written before a Freeze().
struct FrozenLog {
  std::shared_ptr<const LogTable> table;  ///< Shared by the queries and the compaction.
  std::uint64_t through = 0;              ///< The last file of which the table has everything.
  std::uint64_t bytes = 0;                ///< bytes of the log since the Freeze() before it
};

/// The part of a shard that takes writes: a log on disk, the states that it holds in memory, and
/// the comparison of stamps that the four promises of stout::Store are based on.
///
/// A write is first *pending*: in the log's queue, seen by no query. Once it is durable it enters
/// the table, and then its handler is called. So queries reveal durable states only, and see every
/// acknowledged write. A batch is all or nothing, also in a crash.
///
/// Invariants, of each key:
/// S1. pending_ has the newest stamp under way, if there is one. It is newer than the table's,
///     which is no older than that of the older stores. A write is compared with the first that
///     exists.
/// S2. A write that loses the comparison to a pending one is answered when that one is: kOk, as a
///     repetition or overtaken, or kFenced only if it became durable, otherwise with its error.
/// S3. Groups end in the order in which they were written (LogWriter). So when the write that
///     pending_ names has failed, none is left under way, and the table has the newest again.
///
/// After kUnknown a write may come back with the next start, unless any later write, epoch or fence
/// was acknowledged in between: that needs a log that ends before it (LogAppender). So a fence that
/// was answered kOk also settles the open writes, unless its scope had the same epoch already: then
/// nothing is written.
///
/// Freeze() hands the table to a compaction. Then the caller takes these steps, in this order:
/// 1. It goes on asking the frozen table in queries and for older_stamp.
/// 2. It makes the compacted store durable.
/// 3. It durably notes `through` + 1 as first_sequence of the next start.
/// 4. It calls RemoveLogs(directory, through).
///
/// A crash in between repeats the compaction, or leaves files that the next start removes. The
/// fences and the largest epoch are in the newer files, too.
///
/// Owner: the shard; `directory` outlives it.
/// Threads: all members on one, the shard's worker. Handlers run there: inside Poll(), or inside
///   the call that took them if the answer is known at once. Files are written on the writer's
///   thread.
/// Errors: as stout::Store's calls; kTransient also when a bound is reached. Out of memory:
///   Write(), NewEpoch() and Fence() throw, nothing was done, and their handlers are not called.
///   Poll() may throw, too; then the durable changes are not in the table, and only a new start
///   helps.
/// Paper: BlowFish (NSDI'16) "Updates"; Succinct (NSDI'15) "LogStore".
class LogStore {
 public:
  static constexpr std::size_t kMaxScopeBytes = std::size_t{64} << 10;

  using FreezeHandler = UniqueFunction<void(ErrorCode, FrozenLog)>;
  using RotateHandler = UniqueFunction<void(ErrorCode, std::uint64_t through)>;

  /// Replays the log that is there. Blocks. The first write begins a new file, so that a full disk
  /// is no reason not to answer queries.
  /// kBadOptions, or as RecoverLog().
  [[nodiscard]] static Result<std::unique_ptr<LogStore>> Open(LogDirectory& directory,
                                                              LogStoreOptions options,
                                                              RecoveryReport* report = nullptr,
                                                              Diagnostics* diagnostics = nullptr);
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;
  /// Waits for the disk, and answers all calls. Their handlers must not call the store then.
  ~LogStore();

  /// Compares and logs a batch; `batch` may go when this returns.   `now_ms`: Unix time, which
  /// tombstones carry.
  void Write(const WriteBatch& batch, std::uint64_t now_ms, Store::WriteHandler handler);

  /// See stout::Store. A fence is answered kTransient while a newer one of its scope is under way.
  /// So are writes that a fence under way would shut out. A fence is kRefused if its scope is
  /// longer than kMaxScopeBytes, or at max_fence_bytes; kTransient if those under way may reach
  /// max_fence_bytes.
  void NewEpoch(Store::EpochHandler handler);
  void Fence(const Scope& scope, Epoch epoch, Store::FenceHandler handler);

  /// The durable fences, and the largest epoch that was given out or seen.
  /// @{
  [[nodiscard]] const std::unordered_map<Scope, Epoch>& fences() const { return fences_; }
  [[nodiscard]] Epoch max_epoch() const { return max_epoch_; }
  /// @}

  /// Returns true if a durable fence shuts out writes of this scope and epoch.
  [[nodiscard]] bool IsFenced(const Scope& scope, Epoch epoch) const;

  /// A fence of the scope is under way: writes that it may shut out are kTransient.
  [[nodiscard]] bool IsFencePending(const Scope& scope) const {
    const auto fence = pending_fences_.find(scope);
    return fence != pending_fences_.end() && fence->second.epoch > 0;
  }

  /// A write of the key is under way: queries do not see it yet.
  [[nodiscard]] bool IsPending(KeyView key) const { return pending_.contains(key); }
  /// Returns the stamp that a write of the key is compared with: that of the newest write under
  /// way, otherwise that of the table, otherwise that of the older stores.
  [[nodiscard]] std::optional<Stamp> NewestStamp(KeyView key) const;

  /// The durable states since the last Freeze(). Another table after each Freeze().
  [[nodiscard]] const LogTable& table() const { return *table_; }
  /// The same, for a caller that uses it beyond the next Freeze().
  [[nodiscard]] std::shared_ptr<const LogTable> shared_table() const { return table_; }

  /// Begins a new log file and then, before `handler` is called, a new table. Writes in between are
  /// in the frozen table, and in the new files as well. A start that reads those gives states that
  /// the older stores also have, with the same stamps.
  /// Errors: kTransient: nothing was frozen, because the disk fails, or because another Freeze() is
  ///   under way.
  void Freeze(FreezeHandler handler);

  /// Begins a new log file, unless the newest one has no frame yet. Then all that was written
  /// before this call is in files through `through`, which are closed.
  ///
  /// Errors: kTransient: the disk fails, or the store is being closed.
  void Rotate(RotateHandler handler);

  /// Bytes of the log, about, since the last Freeze(), or of all that Open() read. It decides when
  /// to freeze.
  [[nodiscard]] std::uint64_t log_bytes() const { return log_bytes_; }
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_bytes_; }
  /// Returns true if a batch of this number of bytes has no room at present, but will have when the
  /// waiting bytes are on the disk, or have failed. The bytes are MaxOperationBytes() of all its
  /// operations and one more.
  [[nodiscard]] bool WillHaveRoom(std::size_t bytes) const {
    return !HasRoom(bytes) && bytes <= options_.max_batch_bytes;
  }

  /// Applies what has become durable and calls the handlers; see LogStoreOptions::wake.
  void Poll() { writer_->Poll(); }
  /// As LogWriter's.
  [[nodiscard]] const LogWriter::Failures& failures() const { return writer_->failures(); }
  /// As LogWriter's, without a thread of its own.
  bool CommitWaiting() { return writer_->CommitWaiting(); }

 private:
  // A Write() that has not been answered.
  struct Call {
    WriteResult result;
    Store::WriteHandler handler;  // Empty: there was no memory to begin it.
    std::size_t open = 0;         // Appends that it waits for.
  };
  // Returns the outcome of an item, or of all items without one of their own, when an append is
  // durable.
  struct Waiter {
    std::shared_ptr<Call> call;
    std::uint32_t item;
    Errc if_durable;
  };
  // Operations under way to the disk.
  struct Append {
    std::string payload;
    std::vector<Waiter> waiters;
    UniqueFunction<void(Errc)> done;  // May be empty.
  };
  struct PendingStamp {
    Stamp stamp;
    Append* append;
  };
  struct PendingFence {
    Epoch epoch;
    const Append* append;
  };

  explicit LogStore(LogStoreOptions options);
  [[nodiscard]] ErrorCode Recover(LogDirectory& directory, RecoveryReport* report,
                                  Diagnostics* diagnostics);
  void Replay(const Operation& operation);

  // kOk: the batch may be compared, and logged in `bytes` at most.
  [[nodiscard]] Errc Admit(const WriteBatch& batch, std::size_t bytes) const;
  void Compare(const WriteBatch& batch, std::uint32_t item, std::uint64_t now_ms,
               const std::shared_ptr<Call>& call, Append* append);
  [[nodiscard]] std::optional<Stamp> DurableStamp(KeyView key) const;
  void Log(const WriteItem& item, Stamp stamp, std::uint64_t now_ms, Append* append);
  void ReservePending(std::size_t more);
  void MarkPending(Append& append);

  [[nodiscard]] bool HasRoom(std::size_t bytes) const {
    const std::size_t counted = std::min(bytes, options_.max_waiting_bytes / 2);
    return waiting_bytes_ + counted <= options_.max_waiting_bytes;
  }
  void Submit(std::shared_ptr<Append> append);
  void Submit(const Operation& operation, UniqueFunction<void(Errc)> done);
  void OnCommitted(Append& append, Errc errc);
  void Settle(const Operation& operation, const Append& append, Errc errc);
  static void Resolve(const Waiter& waiter, Errc errc);
  static void Answer(Call& call);

  // In payloads that are no larger than batches may be.
  [[nodiscard]] std::vector<std::string> EncodeFencesAndEpoch() const;
  // Writes the payloads one after the other, the last one first, and then freezes.
  void CarryOver(std::vector<std::string> payloads, std::uint64_t through, FreezeHandler handler);

  const LogStoreOptions options_;
  std::shared_ptr<LogTable> table_;
  boost::unordered_flat_map<KeyView, PendingStamp, BytesHash>
      pending_;                                             // Keys are in the payloads.
  std::unordered_map<Scope, Epoch> fences_;                 // Durable.
  std::unordered_map<Scope, PendingFence> pending_fences_;  // The newest under way.
  std::size_t fence_bytes_ = 0;                             // Log bytes of fences_.
  std::size_t pending_fence_bytes_ = 0;                     // Log bytes of fences under way.
  Epoch max_epoch_ = 0;  // Given out or seen, durable or not: skipping one does no harm.
  std::uint64_t log_bytes_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool freezing_ = false;
  bool closing_ = false;
  std::unique_ptr<LogWriter> writer_;  // Null until Recover() has succeeded.
};

}  // namespace stout::blowfish
