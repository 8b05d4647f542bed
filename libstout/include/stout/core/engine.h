#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "stout/core/effects.h"
#include "stout/core/lane.h"
#include "stout/core/options.h"
#include "stout/core/read_lane.h"
#include "stout/core/reply_table.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"

namespace stout::internal {

/// A key and the lane that it belongs to.
struct KeyRef {
  LaneId lane = 0;
  KeyView key;
};

/// The core of libstout: a state machine without clock, threads or I/O.
///
/// A driver reports each event with its time, then takes the effects and carries them out:
///
///     Engine engine(options, lanes, epoch);
///     engine.MarkDirty({lane, key}, bytes, now);
///     engine.SafeReply(refs, reply_id, now);
///     TimePoint next = engine.Poll(now, source);   // forms batches; call again at `next`
///     engine.TakeEffects(effects);                 // batches to write, replies to run, ...
///
/// Every input may add effects; only Poll sends. The Asio shell and the simulator are two drivers.
///
/// A `now` that is earlier than the previous one counts as the previous one. If the driver's clock
/// jumps back, the engine therefore waits until the clock has caught up.
/// Owner: the driver.   Threads: none of its own; callers serialise.
/// Errors: only std::bad_alloc. Requires valid options (see Validate) and lanes in range.
/// Paper: Stout (ATC'10). Design: docs/decisions/0001.
class Engine {
 public:
  Engine(const EngineOptions& options, LaneId lanes, Epoch epoch);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Records that a key changes. The key is dirty until a write that begins later is durable.
  /// `bytes` is the size of its state, for the limits; 0 if unknown. The application must make the
  /// change before the next Poll.
  MarkResult MarkDirty(KeyRef key, std::size_t bytes, TimePoint now) {
    return MarkDirty(key, bytes, 0, now);
  }
  /// As above, under a version from a counter that several engines share. Requires a version larger
  /// than every earlier one of the key's lane.
  MarkResult MarkDirty(KeyRef key, std::size_t bytes, Version version, TimePoint now);
  /// Returns the errc that MarkDirty would return. A caller with several engines can therefore mark
  /// a key in all of them or in none.
  [[nodiscard]] Errc Admits(KeyRef key, std::size_t bytes) const;

  /// Runs the reply once each key is durable at least at its present version. Returns the reply's
  /// index for Withdraw, or ReplyTable::kNone if it was refused at once.
  ReplyTable::Index SafeReply(std::span<const KeyRef> keys, ReplyId reply, TimePoint now);

  /// Returns false if the next SafeReply would be pushed back, because max_replies are held.
  /// `reserved`: room that is kept for others.
  [[nodiscard]] bool HasReplyRoom(std::size_t reserved = 0) const {
    return replies_.held() + reserved < options_.max_replies;
  }

  /// Fetches the newest state of a key, durable or not.
  void Fetch(KeyRef key, FetchId fetch, TimePoint now, const FetchOptions& options = {});

  /// Sends all dirty keys without further delay. The reply runs when they are durable or cannot
  /// become durable. It has no deadline. Returns its index, as SafeReply.
  ReplyTable::Index Flush(ReplyId reply, TimePoint now);
  /// As Flush, but does not make the lanes send earlier.
  ReplyTable::Index Barrier(ReplyId reply, TimePoint now);

  /// Forgets a reply or a flush, which then never runs. Returns false if it has ended already: it
  /// is or was in the effects.
  bool Withdraw(ReplyTable::Index index, ReplyId reply) { return replies_.Withdraw(index, reply); }

  void WriteDone(LaneId lane, BatchId batch, const WriteResult& result, TimePoint now);
  void ReadDone(LaneId lane, BatchId batch, ReadResult result, TimePoint now);
  /// Takes back the buffers of an answered batch, so that the steady state allocates nothing.
  void Recycle(WriteBatch batch) {
    Lane& lane = lanes_[batch.lane].writes;
    lane.Recycle(std::move(batch));
  }

  /// Refuses new changes and sends all dirty keys. Sets Effects::drained when no key is dirty and
  /// no reply waits.
  void Drain();
  /// Sends nothing more and fails waiting replies and fetches with kClosed.
  void Close(TimePoint now) { Stop(Errc::kClosed, now); }
  /// As Close, but with kFenced: another server owns the keys.
  void Fence(TimePoint now) { Stop(Errc::kFenced, now); }

  /// As Close, but with kLost: the store may lack acknowledged writes. A store that answers kLost
  /// to a write or a read has the same effect.
  void Lose(TimePoint now) { Stop(Errc::kLost, now); }

  /// Forms the batches that are due. Returns the time of the next Poll if no other input comes.
  TimePoint Poll(TimePoint now, StateSource& source);

  /// Swaps the effects so far with `into`, after clearing `into`. Its capacity is used again.
  void TakeEffects(Effects& into);

  [[nodiscard]] bool IsDirty(KeyRef key) const { return lanes_[key.lane].writes.Contains(key.key); }
  /// Returns true if any key is dirty.
  [[nodiscard]] bool HasDirtyKeys() const;
  /// Returns about when the oldest change that is not yet durable was made, or kNever.
  [[nodiscard]] TimePoint DirtySince() const;
  /// Returns true if no key is dirty and no fetch waits.
  [[nodiscard]] bool IsIdle() const;
  /// Returns the newest decision of the lane's write policy.
  [[nodiscard]] const Decision& decision(LaneId lane) const {
    return lanes_[lane].writes.decision();
  }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] EngineStats Stats() const;

 private:
  struct LanePair {
    LanePair(LaneId id, Engine& engine);
    Lane writes;
    ReadLane reads;
  };

  ReplyTable::Index AwaitAll(ReplyId reply, bool send_now, TimePoint now);
  template <typename Depend>
  ReplyTable::Index Await(ReplyTable::Index index, ReplyId reply, Depend depend);
  void Stop(Errc why, TimePoint now);
  TimePoint Advance(TimePoint now) { return now_ = std::max(now_, now); }

  const EngineOptions options_;
  const Epoch epoch_;
  TimePoint now_ = TimePoint::min();
  BatchId last_batch_ = 0;
  Effects effects_;
  ReplyTable replies_;
  std::uint64_t replies_taken_ = 0;
  bool draining_ = false;
  Errc drain_errc_ = Errc::kOk;  // kFenced if a lane was fenced since the drain began
  Errc stopped_ = Errc::kOk;
  std::deque<LanePair> lanes_;  // a deque: lanes do not move
};

}  // namespace stout::internal
