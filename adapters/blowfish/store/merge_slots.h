#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
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

  /// `limit`: at least 1.
  explicit MergeSlots(std::size_t limit) : limit_(limit) {}
  MergeSlots(const MergeSlots&) = delete;
  MergeSlots& operator=(const MergeSlots&) = delete;

  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] Usage usage() const;

  /// Waits for a slot. `bytes` is the memory that the merge will take, for Usage. Returns nullopt
  /// if `stop` asked for the end, at once.
  [[nodiscard]] std::optional<Slot> Take(std::uint64_t bytes, const std::stop_token& stop);

 private:
  void GiveBack(std::uint64_t bytes);

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t running_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::set<std::uint64_t> waiting_;  // Tickets: the lowest is next.
};

}  // namespace stout::blowfish
