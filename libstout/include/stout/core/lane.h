#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/backoff.h"
#include "stout/core/batch.h"
#include "stout/core/effects.h"
#include "stout/core/hold_back.h"
#include "stout/core/in_flight.h"
#include "stout/core/key_index.h"
#include "stout/core/options.h"
#include "stout/core/pacer.h"
#include "stout/core/pool.h"
#include "stout/core/reply_table.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The stamp of a change, or why it was not taken.
struct MarkResult {
  Version version = 0;
  Errc errc = Errc::kOk;

  bool operator==(const MarkResult&) const = default;
};

/// The writes of one set of keys: which are dirty, which are in flight, when to send the next.
///
/// A key has an entry from its first unsent change until all its changes are durable; a clean key
/// costs nothing. Invariants:
///  1. An entry is in exactly one place: ready (may be sent), paused (waits to be retried), or in
///     flight. In flight it may be dirty again; then it becomes ready when its write ends.
///  2. At most one write of a key is in flight, so its versions become durable in order. (A write
///     that timed out may still reach the store; its stamp makes it harmless.)
///  3. `newest` >= every version that was ever sent or that a reply waits for.
///  4. A reply that waits for a key hangs on the key's entry, so an entry without changes that are
///     not yet durable has no waits and is erased.
///  5. Once stopped (closed or fenced) the lane is empty and stays so.
///
/// What a failure does:
///  - The batch as a whole failed: its keys go back to the head of the queue, the lane pauses (once
///    for all that were in flight together, see HoldBack), and the next batch has half as many
///    items, so that one which poisons its batch ends up alone.
///  - Some keys failed, or each by itself: these pause; one that failed kAloneAfter times travels
///    alone from then on, and neither its company nor the lane suffers when it fails again.
///  - Some were refused and the rest failed with them: the rest goes back to the head of the queue.
///  - Under prefix ordering whatever failed goes back to the head of the queue, all together.
///
/// Owner: an Engine.   Threads: none of its own.
/// Paper: Stout (ATC'10), "Benefit: Write Collapsing", "Staying Safe: Consistency".
class Lane {
 public:
  Lane(LaneId id, Epoch epoch, const LaneOptions& options, std::uint64_t seed, BatchId& last_batch,
       ReplyTable& replies, Effects& effects);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  MarkResult Mark(KeyView key, std::size_t bytes, TimePoint now);

  /// The reply waits for this key's newest change, if that is not yet durable. kOk, or why it
  /// never can be.
  [[nodiscard]] Errc DependOn(ReplyTable::Index reply, KeyView key);

  /// Everything dirty is sent without delay, keys in retry included, and the reply waits for it.
  void Flush(ReplyTable::Index reply);

  /// Everything dirty is sent without delay.
  void SendAllNow();

  /// The store has answered. An answer after the attempt's time-out is ignored, unless it fences.
  void Done(BatchId batch, const WriteResult& result, TimePoint now);

  /// Sends what is due. Answers when to be polled again, unless something else happens first.
  TimePoint Poll(TimePoint now, StateSource& source);

  /// Closes or fences: forgets everything and fails the replies that wait for it.
  void Stop(Errc why, TimePoint now);

  /// Takes the buffers of an answered batch for the next ones.
  void Recycle(WriteBatch batch);

  /// Whether a change of this key is not yet durable.
  [[nodiscard]] bool Contains(KeyView key) const { return NewestOf(key) != 0; }
  /// The version of the newest change of a key that is not yet durable, else 0.
  [[nodiscard]] Version NewestOf(KeyView key) const;
  [[nodiscard]] bool empty() const { return entries_.in_use() == 0; }
  [[nodiscard]] Errc stopped() const { return stopped_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] LaneStats Stats() const;

 private:
  using Slot = KeyIndex::Slot;
  static constexpr Slot kNone = KeyIndex::kNone;
  /// A key that failed this often is sent in a batch of its own. Guess; see world_test.
  static constexpr std::uint32_t kAloneAfter = 3;
  /// Buffers of values beyond this are not kept for later batches. There are as many spares as
  /// items were ever in flight at once, and each grows to the largest value that it ever held.
  static constexpr std::size_t kMaxSpareBytes = std::size_t{4} << 10;

  struct Entry {
    std::string key;
    std::uint32_t hash;
    std::uint32_t failures;  // of this key alone, in a row
    Version newest;          // the newest change
    Version sending;         // the change in flight, 0 if none
    TimePoint dirty_since;   // the oldest change that is not in flight
    TimePoint ready_since;   // since when it could be sent: later if a write was in flight
    std::size_t bytes;       // towards max_dirty_bytes
    ReplyTable::Ring waits = ReplyTable::kNone;  // kept, empty, for the slot's next key
    Slot next;                                   // in the ready queue
    bool dirty;                                  // a change is not in flight
    bool urgent;                                 // a flush wants the change that is not in flight
  };
  struct Sent {
    Slot slot;
    TimePoint dirty_since;
    bool urgent;  // also after a failure
  };
  struct Attempt {
    BatchId id;
    std::vector<Sent> items;  // as in the batch
    BatchSample sample;
  };
  struct Paused {
    TimePoint until;
    Slot slot;
    friend auto operator<=>(const Paused&, const Paused&) = default;
  };

  [[nodiscard]] Slot Find(KeyView key) const;
  [[nodiscard]] Slot Find(KeyView key, std::uint32_t hash) const;
  Slot Insert(KeyView key, std::uint32_t hash);
  void Erase(Slot slot);
  void Account(Entry& entry, std::size_t bytes);

  void PushReady(Slot slot);
  void PushReadyFront(Slot slot);
  Slot PopReady();
  void ResumePaused(TimePoint now);

  [[nodiscard]] bool MaySend(TimePoint now) const;
  [[nodiscard]] bool IsFull() const;
  [[nodiscard]] std::size_t Window() const;
  [[nodiscard]] TimePoint NextByPolicy() const;
  [[nodiscard]] TimePoint NextEvent() const;
  [[nodiscard]] std::size_t BatchLimit() const;
  WriteBatch NewBatch();
  void Form(TimePoint now, StateSource& source);
  bool Append(WriteBatch& batch, Attempt& attempt, Slot slot, StateSource& source, TimePoint now);
  [[nodiscard]] bool HasRoom(std::size_t in_flight) const;
  [[nodiscard]] bool IsCut(std::size_t items) const;
  void SendCut(WriteBatch&& batch, Attempt&& attempt, TimePoint now);
  void Send(WriteBatch&& batch, Attempt&& attempt, BatchPart part, Duration spacing, TimePoint now);

  void TimeOutAttempts(TimePoint now);
  void Finish(Attempt&& attempt, const WriteResult& result, TimePoint now);
  void EndWrite(Slot slot, Errc errc, TimePoint now);
  void PutBack(const Sent& sent);
  void Pause(Slot slot, TimePoint now);
  void FailWhole(const Attempt& attempt, Errc errc, TimePoint now);
  void FinishItems(const Attempt& attempt, const WriteResult& result, bool batch_settled,
                   TimePoint now);
  void OnTrouble(BatchId failed, TimePoint now);

  LaneId id_;
  Epoch epoch_;
  const LaneOptions& options_;
  Backoff backoff_;
  SplitMix64 random_;
  BatchId& last_batch_;
  ReplyTable& replies_;
  Effects& effects_;

  Policy policy_;
  Decision decision_;
  Errc stopped_ = Errc::kOk;

  Version version_ = 0;
  Pool<Entry> entries_;
  KeyIndex index_;
  std::size_t dirty_bytes_ = 0;
  Slot recent_ = kNone;  // marked last: the key that SafeReply is about to name

  Slot ready_head_ = kNone;
  Slot ready_tail_ = kNone;
  std::size_t ready_ = 0;
  std::size_t urgent_ = 0;      // of them, those with the flag
  std::vector<Paused> paused_;  // a heap, earliest first

  InFlight<Attempt> attempts_;
  Pacer pacer_;
  HoldBack hold_;    // after a batch failed as a whole
  std::size_t cut_;  // items per batch while failures make it less

  std::vector<WriteItem> spare_items_;
  std::vector<std::vector<WriteItem>> spare_batches_;
  std::vector<std::vector<Sent>> spare_sent_;
  LaneStats stats_;
};

}  // namespace stout::internal
