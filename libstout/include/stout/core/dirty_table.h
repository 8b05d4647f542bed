#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/key_index.h"
#include "stout/core/options.h"
#include "stout/core/pool.h"
#include "stout/core/reply_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// A key with changes that are not yet durable. The oldest of them may be in flight.
struct DirtyKey {
  std::string key;
  std::uint32_t hash;
  std::uint32_t failures;  ///< of this key alone, in a row
  Version newest;          ///< the newest change
  Version sending;         ///< the change in flight, 0 if none
  Version doubtful;        ///< the newest change that was sent and got no answer, 0 if none
  TimePoint dirty_since;   ///< time of the oldest change that is not in flight
  TimePoint ready_since;   ///< when that change could first be sent: later if a write was in flight
  std::size_t bytes;       ///< towards LaneOptions::max_dirty_bytes
  ReplyTable::Ring waits = ReplyTable::kNone;  ///< kept, empty, for the slot's next key
  KeyIndex::Slot next;                         ///< in the ready queue
  bool dirty;                                  ///< a change is not in flight
  bool urgent;                                 ///< a flush wants the change that is not in flight
};

/// The dirty keys of a lane, and the order in which they are sent.
///
/// A key has a slot from its first unsent change until all its changes are durable. A clean key
/// costs nothing. Invariants:
///  1. A slot is in exactly one place: ready (in the queue), paused (waits for a retry), or in
///     flight (`sending` is not 0). In flight it may be dirty again. Then it becomes ready when its
///     write ends.
///  2. `newest` >= every version that was ever sent.
///
/// Owner: a lane.   Threads: none of its own.   Allocates nothing in the steady state.
class DirtyTable {
 public:
  using Slot = KeyIndex::Slot;
  static constexpr Slot kNone = KeyIndex::kNone;

  explicit DirtyTable(const LaneOptions& options) : options_(options) {}

  /// Records a change. `bytes` is the size of the key's state; 0 if unknown.
  /// Errors: kPushedBack, kTooLarge. Nothing was recorded then.
  Errc Mark(KeyView key, std::size_t bytes, Version version, TimePoint now);
  /// Returns the errc that Mark would return.
  [[nodiscard]] Errc Admits(KeyView key, std::size_t bytes) const;
  /// Returns the key's slot, or kNone if the key is clean.
  [[nodiscard]] Slot Find(KeyView key) const;
  /// Corrects the size of a key's state.
  void SetBytes(DirtyKey& key, std::size_t bytes);

  /// Removes the first ready key from the queue. The caller begins its write, or calls PushFront.
  Slot PopReady();
  /// Returns the first ready key. Requires ready() > 0.
  [[nodiscard]] const DirtyKey& front() const { return keys_[head_]; }
  void PushFront(Slot slot);
  /// Makes the key wait until `until`: see Resume.
  void Pause(Slot slot, TimePoint until);
  /// Makes keys ready if their pause has ended.
  void Resume(TimePoint now);
  /// Returns when the next pause ends, or kNever.
  [[nodiscard]] TimePoint NextResume() const {
    return paused_.empty() ? kNever : paused_.front().until;
  }
  /// Ends all pauses, and marks all ready keys as urgent.
  void HurryAll();

  /// Begins the write of the newest change. Returns true if the change was urgent.
  bool BeginWrite(DirtyKey& key);
  /// Ends the write in flight, which is durable or refused for good. A newer change becomes ready.
  /// If there is none, the key is clean and its slot is free.
  void EndWrite(Slot slot, TimePoint now);
  /// Ends the write in flight, which must be sent again. A newer change absorbs it. Follow with
  /// PushFront or Pause. `dirty_since` and `urgent`: as they were when the write began.
  void UndoWrite(Slot slot, TimePoint dirty_since, bool urgent);

  /// Forgets all keys.
  void Clear();

  DirtyKey& operator[](Slot slot) { return keys_[slot]; }
  const DirtyKey& operator[](Slot slot) const { return keys_[slot]; }
  /// Calls `visit(key)` for each key that is ready or paused.
  template <typename Visit>
  void ForEachUnsent(Visit visit) {
    for (Slot slot = head_; slot != kNone; slot = keys_[slot].next) visit(keys_[slot]);
    for (const Paused& paused : paused_) visit(keys_[paused.slot]);
  }

  [[nodiscard]] std::size_t size() const { return keys_.in_use(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t ready() const { return ready_; }
  /// Returns the time of the oldest change that is not in flight, or kNever. It may be later than
  /// that for a key that was changed in flight or paused, and is not yet the first one again.
  [[nodiscard]] TimePoint DirtySince() const;
  /// Returns true if a ready key is urgent.
  [[nodiscard]] bool IsUrgent() const { return urgent_ > 0; }

 private:
  struct Paused {
    TimePoint until;
    Slot slot;
    friend auto operator<=>(const Paused&, const Paused&) = default;
  };

  [[nodiscard]] Slot Find(KeyView key, std::uint32_t hash) const;
  [[nodiscard]] Errc Admit(Slot slot, KeyView key, std::size_t& bytes) const;
  Slot Insert(KeyView key, std::uint32_t hash);
  void PushBack(Slot slot);

  const LaneOptions& options_;
  Pool<DirtyKey> keys_;
  KeyIndex index_;
  std::size_t bytes_ = 0;
  Slot recent_ = kNone;  // the key marked last: SafeReply is about to name it

  Slot head_ = kNone;
  Slot tail_ = kNone;
  std::size_t ready_ = 0;
  std::size_t urgent_ = 0;      // ready keys with the flag
  std::vector<Paused> paused_;  // a heap, earliest first
};

}  // namespace stout::internal
