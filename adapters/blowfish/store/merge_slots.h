#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>

namespace stout::blowfish {

/// Bounds the merges that the shards of a server have under way at a time. Each merge takes a
/// processor, and several times the memory of its input. Merges that come when all slots are taken
/// wait, and get a slot in the order in which they came.
///
/// Owner: outlives its slots.   Threads: any, for everything.
class MergeSlots {
 public:
  struct Usage {
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::uint64_t bytes = 0;  ///< Memory of those that run, as they have estimated it.
  };

  /// A place among those that run, as long as it exists.
  class Slot {
   public:
    Slot(Slot&& other) noexcept;
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class MergeSlots;
    Slot(MergeSlots& slots, std::uint64_t bytes) : slots_(&slots), bytes_(bytes) {}

    MergeSlots* slots_;
    std::uint64_t bytes_;
  };

  /// A place in the queue, as long as it exists.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();

    /// Returns true if it is the first in the queue and a slot is free. It stays so until Take().
    [[nodiscard]] bool may_take() const;
    /// Takes the slot. `bytes` is the memory that the merge will take, for Usage. Requires
    /// may_take().
    [[nodiscard]] Slot Take(std::uint64_t bytes) &&;

   private:
    friend class MergeSlots;
    Place(MergeSlots& slots, std::uint64_t ticket) : slots_(&slots), ticket_(ticket) {}

    MergeSlots* slots_;
    std::uint64_t ticket_;
  };

  /// `limit`: at least 1.
  explicit MergeSlots(std::size_t limit) : limit_(limit) {}
  MergeSlots(const MergeSlots&) = delete;
  MergeSlots& operator=(const MergeSlots&) = delete;

  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] Usage usage() const;

  /// Queues for a slot. `wake` says that the place may take one, on any thread, perhaps before this
  /// returns, and perhaps twice. It must not call this object.
  [[nodiscard]] Place Queue(std::function<void()> wake);

  /// Queues, and waits. Returns nullopt if `stop` asked for the end, at once.
  [[nodiscard]] std::optional<Slot> Take(std::uint64_t bytes, const std::stop_token& stop);

 private:
  void Leave(std::uint64_t ticket);
  void GiveBack(std::uint64_t bytes);
  // The rest require the lock.
  [[nodiscard]] bool MayTake(std::uint64_t ticket) const {
    return running_ < limit_ && ticket == waiting_.begin()->first;
  }
  void WakeNext();

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::size_t running_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::map<std::uint64_t, std::function<void()>> waiting_;  // by ticket: the lowest is next
};

}  // namespace stout::blowfish
