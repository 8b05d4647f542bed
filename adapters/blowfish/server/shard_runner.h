#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "blowfish/server/batch.h"
#include "blowfish/server/read_time.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/slices.h"
#include "blowfish/server/wait_queue.h"
#include "blowfish/server/work.h"
#include "blowfish/store/shard.h"

namespace stout::blowfish {

/// Does the parts of batches that are one shard's.
///
/// Order:
/// - The subrequests of a sub-batch are begun in order. Those of different sub-batches have no
///   order.
/// - All reads that are possible at a time are done together, in lock step, for all sub-batches,
///   except a few reads of single attributes, and GETRANGE if there is a text index.
/// - Writes wait for the disk together.
/// - A read after a write of its own sub-batch waits for that write, so that a client reads what it
///   wrote.
/// - A command that depends on the state of a key (SET NX, GETSET, DEL) waits until no write of
///   that key is under way. Later writes of that key, of other sub-batches, wait behind it.
/// - A plain write waits until the shard has room for it, or until no work is under way that makes
///   room, and until no fence of all scopes is under way. STOUT.WRITE does not wait for room,
///   because its clients choose themselves when to try again. See WaitQueue.
///
/// Commands that look at many keys (GREP, SEARCH, SCAN, FLUSHALL) are done in slices: see Slices.
///
/// If there is no memory for a subrequest, that one is answered kNoMemory, and the others go on. A
/// write that is under way needs no more memory to be answered.
///
/// Owner: `shard` outlives it; sub-batches outlive their `done`.
/// Threads: the shard's worker. The shard's handlers call it in Shard::Poll().
class ShardRunner {
 public:
  /// The interface to the shard's worker.
  struct Worker {
    std::function<std::uint64_t()> queue;  ///< Its length, for replies.
    /// Called for each sub-batch that is answered, also while others are being read: it calls
    /// neither the runner nor the shard.
    std::function<void(SubBatch&)> done;
    std::function<TimePoint()> now;  ///< For slices, and for read_time().
    std::shared_ptr<ReadTime> read_time = std::make_shared<ReadTime>();
  };

  /// `number`: the index of this shard.
  ShardRunner(Shard& shard, std::size_t number, Worker worker);

  void Add(SubBatch& batch);
  /// Begins all that can be begun, and gives a slice to those that wait for their turn. Call it
  /// after Add() and after each Poll() of the shard.
  void Run();

  /// No sub-batch is left.
  [[nodiscard]] bool idle() const { return open_ == 0; }
  /// A subrequest could use another slice: call Run() even if there is nothing new.
  [[nodiscard]] bool wants_turn() const { return slices_.wanted(); }
  /// The time so far of reads that layers make faster, and of their answers: gets, attributes and
  /// parts that are read one by one, all gets if the shard has packed blocks, and searches that
  /// locate or read records. It excludes other gets in lock step, GREP without a text index, counts
  /// of rows only, writes and SCAN.
  [[nodiscard]] const ReadTime& read_time() const { return *worker_.read_time; }
  /// From now on nothing takes long: slices end with an error, because nothing reads their
  /// result, and plain writes do not wait for room.
  void End() { slices_.End(); }

 private:
  friend Work;

  struct Read {
    SubBatch* batch;
    Subrequest* subrequest;
    std::string_view key;
  };

  void RunReady();
  void Advance(SubBatch& batch);
  // Begin(), and what could not be begun is answered.
  Step TryToBegin(SubBatch& batch);
  Step Begin(SubBatch& batch);
  void ReadAllGathered();
  // `together`: the first of them, which are read in lock step.
  void AnswerAllGathered(std::size_t together);
  // Gathered reads from the returned index on are single attributes, or parts of values of a text
  // index. These are read one by one, because the part may be a small fraction of the value.
  [[nodiscard]] std::size_t SetPartsApart();
  // One of its reads is answered.
  void OnRead(SubBatch& batch);
  void OnWritten(SubBatch& batch);
  // If there is no memory to report it, the process ends, because the client would wait for ever.
  void EndIfDone(SubBatch& batch) noexcept;

  Shard& shard_;
  const std::size_t number_;
  const Worker worker_;

  std::size_t open_ = 0;
  WaitQueue waits_;
  Slices slices_;
  std::vector<Read> gathered_;
  // Scratch, empty between reads.
  std::vector<std::string_view> gathered_keys_;
  std::vector<bool> found_;
};

}  // namespace stout::blowfish
