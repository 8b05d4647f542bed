#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "blowfish/store/merge_slots.h"
#include "blowfish/store/new_layers.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Fills the new layers of a shard's files on a thread of its own, one file after the other, the
/// last one first. Beside it, the shard's worker reads the files, because it has no layers of
/// theirs.
///
/// Owner: none; its end stops the thread.   Threads: all members on one; `wake` is called on
///   another, and must not block.
class LayerFiller {
 public:
  /// `wake` says that TakeFull() has something. `slots` bounds the files that all shards together
  /// fill at a time. Null: no bound.
  LayerFiller(std::function<void()> wake, std::shared_ptr<MergeSlots> slots)
      : wake_(std::move(wake)), slots_(std::move(slots)) {}

  /// Begins to fill them, or goes on. Requires Stop() before, except the first time.
  /// Errors: kTransient: there is no thread or no memory, and the layers are gone.
  [[nodiscard]] ErrorCode Begin(std::vector<NewLayers> layers);

  /// Calls take(layers) with those that are full and were not taken before. Without memory to fill
  /// them, layers may lack values.
  template <typename Take>
  void TakeFull(Take take) {
    const std::lock_guard lock(mutex_);
    for (NewLayers& layers : full_) take(std::move(layers));
    full_.clear();
  }

  /// Waits for the thread, as long as NewLayers::Fill() takes to stop. Returns the layers that are
  /// not full.
  std::vector<NewLayers> Stop() {
    thread_ = {};
    return std::exchange(layers_, {});
  }

 private:
  void Fill(const std::stop_token& stop);

  const std::function<void()> wake_;
  const std::shared_ptr<MergeSlots> slots_;
  std::mutex mutex_;
  std::vector<NewLayers> layers_;  // The thread's.
  std::vector<NewLayers> full_;    // It has room for all that the thread fills.
  std::jthread thread_;            // Last: it uses the others.
};

}  // namespace stout::blowfish
