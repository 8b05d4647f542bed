#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/backoff.h"
#include "stout/core/batch.h"
#include "stout/core/dirty_table.h"
#include "stout/core/effects.h"
#include "stout/core/hold_back.h"
#include "stout/core/in_flight.h"
#include "stout/core/options.h"
#include "stout/core/pacer.h"
#include "stout/core/reply_table.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The version of a change, or the reason why it was not taken.
struct MarkResult {
  Version version = 0;
  Errc errc = Errc::kOk;

  bool operator==(const MarkResult&) const = default;
};

/// The writes of one set of keys: when the dirty keys are sent, and the batches in flight.
///
/// Invariants, beside those of the DirtyTable:
///  1. At most one write of a key is in flight, so its versions become durable in order. (A write
///     that timed out may still reach the store; its stamp makes it harmless.)
///  2. A reply that waits for a key is linked to the key's slot, at a version <= `newest`. When all
///     changes of a key are durable, no reply waits for it, and its slot is free.
///  3. A key is in the items of an attempt exactly while its write is in flight.
///  4. Once stopped (closed, fenced or lost) the lane is empty and stays so.
///
/// Effects of a failure:
///  - The batch failed as a whole. Its keys go back to the head of the queue. The lane pauses, once
///    for all batches that were in flight together, see HoldBack. The next batch has half as many
///    items, so that a key that makes its batch fail ends up alone.
///  - Some keys failed, or each by itself. These keys pause. A key that failed kAloneAfter times is
///    sent in a batch of its own from then on, so its next failure affects no other key.
///  - Some keys were refused and the rest failed with them. The rest goes back to the head of the
///    queue.
///  - Under prefix ordering all failed keys go back to the head of the queue together.
///
/// Owner: an Engine.   Threads: none of its own.
/// Paper: Stout (ATC'10), "Benefit: Write Collapsing", "Staying Safe: Consistency".
class Lane {
 public:
  Lane(LaneId id, Epoch epoch, const LaneOptions& options, std::uint64_t seed, BatchId& last_batch,
       ReplyTable& replies, Effects& effects);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Records a change of a key. `version`: 0 for the lane's next one, otherwise larger than every
  /// earlier one.
  MarkResult Mark(KeyView key, std::size_t bytes, Version version, TimePoint now);
  /// Returns the errc that Mark would return.
  [[nodiscard]] Errc Admits(KeyView key, std::size_t bytes) const;

  /// Makes the reply wait for this key's newest change, if that is not yet durable. Returns kOk, or
  /// the error that prevents it from becoming durable.
  [[nodiscard]] Errc DependOn(ReplyTable::Index reply, KeyView key);

  /// Makes the reply wait for all dirty keys.
  void Barrier(ReplyTable::Index reply);

  /// Sends all dirty keys without delay, keys in retry included.
  void SendAllNow();

  /// Takes the store's answer. An answer after the attempt's timeout is ignored, except kFenced.
  void Done(BatchId batch, const WriteResult& result, TimePoint now);

  /// Sends the batches that are due. Returns the time of the next Poll if no other input comes.
  TimePoint Poll(TimePoint now, StateSource& source);

  /// Forgets all keys, fails the replies that wait for them with `why`, and sends nothing more.
  void Stop(Errc why, TimePoint now);

  /// Takes the buffers of an answered batch, for use in later batches.
  void Recycle(WriteBatch batch);

  /// Returns true while a change of this key is not yet durable.
  [[nodiscard]] bool Contains(KeyView key) const { return NewestOf(key) != 0; }
  /// Returns the version of the key's newest change that is not yet durable; 0 if there is none.
  [[nodiscard]] Version NewestOf(KeyView key) const;
  [[nodiscard]] bool empty() const { return dirty_.size() == 0; }
  /// Returns about when the oldest change that is not yet durable was made, or kNever.
  [[nodiscard]] TimePoint DirtySince() const;
  [[nodiscard]] Errc stopped() const { return stopped_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] const Decision& decision() const { return decision_; }
  [[nodiscard]] LaneStats Stats() const;

 private:
  using Slot = DirtyTable::Slot;
  /// After this number of failures a key is sent in a batch of its own. Guess; see world_test.
  static constexpr std::uint32_t kAloneAfter = 3;

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
  void Doubt(const Attempt& attempt, const WriteResult& result);
  void EndWrite(Slot slot, Errc errc, TimePoint now);
  void RetryFirst(const Sent& sent);
  void RetryLater(const Sent& sent, TimePoint now);
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
  DirtyTable dirty_;
  InFlight<Attempt> attempts_;
  Pacer pacer_;
  HoldBack hold_;    // after a batch failed as a whole
  std::size_t cut_;  // items per batch while failures reduce it

  std::vector<WriteItem> spare_items_;
  std::vector<std::vector<WriteItem>> spare_batches_;
  std::vector<std::vector<Sent>> spare_sent_;
  LaneStats stats_;
};

}  // namespace stout::internal
