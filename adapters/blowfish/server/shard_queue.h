#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "blowfish/server/batch.h"
#include "stout/core/types.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

class Shard;

/// The requests that wait for a shard's worker, and their number.
///
/// Threads: any, but Take and Done, which are the worker's.
class ShardQueue {
 public:
  using Errand = UniqueFunction<void(Shard&)>;
  struct Taken {
    std::vector<SubBatch*> batches;
    std::vector<Errand> errands;  ///< work that is not for clients
    bool stop = false;
  };

  /// Out of memory: they throw, and nothing was pushed.
  /// @{
  void Push(SubBatch& batch);
  void Push(Errand errand);
  /// @}
  /// The shard has something to do by itself.
  void Wake();
  /// The worker is to end.
  void Stop();

  /// Waits until something is there, the worker is woken, or the deadline has come; takes all.
  /// `taken` is reused: what it had is dropped.
  void Take(TimePoint deadline, Taken& taken);
  /// A sub-batch that was taken is answered.
  void Done(const SubBatch& batch);

  /// Requests that have not been answered, those under way among them.
  [[nodiscard]] std::uint64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  /// Requests that were answered since the start.
  [[nodiscard]] std::uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }

 private:
  template <typename Change>
  void Alter(Change change);

  std::mutex mutex_;
  std::condition_variable changed_;
  Taken taken_;
  bool woken_ = false;
  bool asleep_ = false;
  std::atomic<std::uint64_t> waiting_ = 0;
  std::atomic<std::uint64_t> answered_ = 0;
};

}  // namespace stout::blowfish
