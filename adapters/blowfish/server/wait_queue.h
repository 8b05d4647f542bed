#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "blowfish/index/bytes_hash.h"

namespace stout::blowfish {

struct SubBatch;

/// Which sub-batches of a shard's worker can go on, and which of their writes wait for others:
/// events in, those that go on out. It knows no shard, log, clock or thread.
///
/// The worker goes through all that wait in passes, one after each Poll() of the shard. Whatever a
/// write waits for (the end of another write of its key, room, the end of a fence) happens in a
/// Poll(), so a pass finds it. In a pass, sub-batches go on in the order in which they began to
/// wait, and new ones behind them:
///
///     waits.StartPass();
///     while (!waits.idle()) {
///       for (SubBatch* const batch : waits.TakeReady()) { ... }
///     }
///     waits.EndPass();
///
/// First come, first served:
/// - A write whose key is waited for in this pass waits, too, and all its keys are waited for then.
/// - A *plain* write, which is one without stamps, waits for room in the shard and for a fence of
///   all scopes. Once one of them waits for that, all later ones of the pass wait.
/// - A fence of all scopes waits behind a plain write that waits for such a fence.
///
/// Threads: the shard's worker.
class WaitQueue {
 public:
  using SubBatches = std::vector<SubBatch*>;

  /// Makes room for this number of sub-batches in all, before they are added. Then only the members
  /// that take keys throw. Throws std::bad_alloc.
  void Reserve(std::size_t open);

  /// It goes on in this pass, or in the next one if none has started: it is new, or what it waited
  /// for has happened.
  void Wake(SubBatch& batch) { ready_.push_back(&batch); }
  /// It goes on in the next pass. `began`: it has begun something in this pass, so others have
  /// waited for longer.
  void Wait(SubBatch& batch, bool began) { (began ? late_ : waiting_).push_back(&batch); }

  void StartPass();
  void EndPass();
  /// Nothing goes on in this pass.
  [[nodiscard]] bool idle() const { return ready_.empty(); }
  /// Returns those that go on now, until the next call. Others may be woken meanwhile.
  [[nodiscard]] std::span<SubBatch* const> TakeReady();

  /// A plain write of this pass waits for room or a fence, so all later ones wait.
  [[nodiscard]] bool plain_waits() const { return plain_waits_; }
  /// The reasons for a plain write to wait.
  struct Obstacles {
    bool fence = false;  ///< a fence of all scopes is under way
    bool room = false;   ///< there is no room in the shard, and there will be
  };
  /// Returns true if a plain write has to wait. Its changes have a `key` each.
  template <typename Changes>
  [[nodiscard]] bool PlainMustWait(const Changes& changes, Obstacles obstacles) {
    fence_waited_for_ = fence_waited_for_ || obstacles.fence;
    plain_waits_ = plain_waits_ || fence_waited_for_ || obstacles.room;
    return plain_waits_ || MustWait(changes);
  }
  /// Returns true if a write has to wait for earlier ones that wait for one of its keys.
  template <typename Changes>
  [[nodiscard]] bool MustWait(const Changes& changes) {
    if (awaited_.empty()) return false;
    for (const auto& change : changes) {
      if (awaited_.contains(change.key)) return AwaitKeys(changes), true;
    }
    return false;
  }
  /// A write waits for other writes of its keys: later ones of the pass wait behind it.
  template <typename Changes>
  void AwaitKeys(const Changes& changes) {
    for (const auto& change : changes) awaited_.emplace(change.key);
  }
  /// Returns true if a fence of all scopes has to wait.
  [[nodiscard]] bool FenceMustWait() const { return fence_waited_for_; }

 private:
  // A sub-batch is in one of them at most, and each has room for all that are open.
  SubBatches ready_;
  SubBatches running_;
  SubBatches waiting_;
  SubBatches late_;
  // In this pass.
  bool plain_waits_ = false;
  bool fence_waited_for_ = false;
  boost::unordered_flat_set<std::string, BytesHash, std::equal_to<>> awaited_;
};

}  // namespace stout::blowfish
