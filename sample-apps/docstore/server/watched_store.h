#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "stout/error.h"
#include "stout/store.h"

namespace stout::docstore {

/// Passes every call on to a store, and reports when it was sent and how it ended.
///
/// Owner: refers to the store, which outlives it and its calls.
/// Threads: any; `observe` runs on the thread that brings the answer.
class WatchedStore final : public Store {
 public:
  using Clock = std::chrono::steady_clock;
  /// The end of a call: when it was sent, and the outcome of the whole. For a batch with a key that
  /// a newer epoch has written, that is kFenced.
  using Observe = std::function<void(Clock::time_point sent, ErrorCode)>;

  /// `observe_owned` hears of writes and fences, which show who owns the scope.
  WatchedStore(Store& store, Observe observe_owned)
      : store_(store), observe_owned_(std::move(observe_owned)) {}

  [[nodiscard]] const StoreTraits& traits() const override { return store_.traits(); }
  [[nodiscard]] LaneId PartitionOf(KeyView key) const override { return store_.PartitionOf(key); }

  void Write(const WriteBatch& batch, WriteHandler handler) override {
    store_.Write(batch, [observe = observe_owned_, sent = Clock::now(),
                         handler = std::move(handler)](WriteResult result) mutable {
      observe(sent, OutcomeOf(result));
      handler(std::move(result));
    });
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    store_.Read(batch, std::move(handler));
  }
  void NewEpoch(EpochHandler handler) override { store_.NewEpoch(std::move(handler)); }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    store_.Fence(scope, epoch,
                 [observe = observe_owned_, sent = Clock::now(),
                  handler = std::move(handler)](ErrorCode ec) mutable {
                   observe(sent, ec);
                   handler(ec);
                 });
  }

 private:
  static ErrorCode OutcomeOf(const WriteResult& result) {
    for (const auto& item : result.items) {
      if (item.errc == Errc::kFenced) return Errc::kFenced;
    }
    return result.batch;
  }

  Store& store_;
  const Observe observe_owned_;
};

}  // namespace stout::docstore
