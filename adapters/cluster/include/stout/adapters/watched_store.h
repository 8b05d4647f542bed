#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "stout/adapters/store_health.h"
#include "stout/error.h"
#include "stout/forwarding_store.h"

namespace stout {

/// Passes every call on to a store, and remembers how the calls fare.
///
/// Owner: refers to the store, which outlives it and its calls.
/// Threads: any; `observe_owned` runs on the thread that brings the answer.
class WatchedStore final : public ForwardingStore {
 public:
  using Clock = StoreHealth::Clock;
  /// The end of a write or a fence, which shows who owns its scope: when it was sent, and the
  /// outcome of the whole. For a batch with a key that a newer epoch has written, that is kFenced.
  using ObserveOwned = std::function<void(Epoch epoch, Clock::time_point sent, ErrorCode)>;

  /// `observe_owned` may be empty.
  explicit WatchedStore(Store& store, ObserveOwned observe_owned = {})
      : ForwardingStore(store), watch_(std::make_shared<Watch>(std::move(observe_owned))) {}

  /// As of now.
  [[nodiscard]] StoreHealth health() const {
    const std::lock_guard lock(watch_->mutex);
    return watch_->health;
  }

  /// Asks the store for a new epoch if its health needs a probe. Such a small durable write shows
  /// that it reads and writes, and every store has it.
  void ProbeIfNeeded() {
    if (health().NeedsProbe()) NewEpoch([](ErrorCode, Epoch) {});
  }

  void Write(const WriteBatch& batch, WriteHandler handler) override {
    underneath().Write(batch, [watch = watch_, epoch = batch.epoch, items = batch.items.size(),
                               sent = watch_->Begin(Call::kWrite),
                               handler = std::move(handler)](WriteResult result) mutable {
      watch->End(Call::kWrite, HealthOf(result, items));
      watch->EndOwned(epoch, sent, OutcomeOf(result));
      handler(std::move(result));
    });
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    watch_->Begin(Call::kRead);
    underneath().Read(batch,
                      [watch = watch_, handler = std::move(handler)](ReadResult result) mutable {
                        watch->End(Call::kRead, result.errc);
                        handler(std::move(result));
                      });
  }
  void NewEpoch(EpochHandler handler) override {
    watch_->Begin(Call::kNewEpoch);
    underneath().NewEpoch(
        [watch = watch_, handler = std::move(handler)](ErrorCode ec, Epoch epoch) mutable {
          watch->End(Call::kNewEpoch, ec);
          handler(ec, epoch);
        });
  }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    underneath().Fence(scope, epoch,
                       [watch = watch_, epoch, sent = watch_->Begin(Call::kRead),
                        handler = std::move(handler)](ErrorCode ec) mutable {
                         watch->End(Call::kRead, ec);
                         watch->EndOwned(epoch, sent, ec);
                         handler(ec);
                       });
  }

 private:
  using Call = StoreHealth::Call;

  // Shared with the calls under way, which may end after the destructor.
  struct Watch {
    explicit Watch(ObserveOwned observe) : observe_owned(std::move(observe)) {}

    Clock::time_point Begin(Call call) {
      const auto now = Clock::now();
      const std::lock_guard lock(mutex);
      health.OnSent(call, now);
      return now;
    }
    void End(Call call, ErrorCode ec) {
      const std::lock_guard lock(mutex);
      health.OnDone(call, ec);
    }
    void EndOwned(Epoch epoch, Clock::time_point sent, ErrorCode ec) const {
      if (observe_owned) observe_owned(epoch, sent, ec);
    }

    const ObserveOwned observe_owned;
    std::mutex mutex;
    StoreHealth health;
  };

  // Items that each fail by themselves, for example because their rows are locked, are an answer:
  // see WriteResult.
  static ErrorCode HealthOf(const WriteResult& result, std::size_t items) {
    const bool each_by_itself = items > 0 && result.items.size() == items;
    return result.batch == Errc::kTransient && each_by_itself ? Errc::kOk : result.batch;
  }
  static ErrorCode OutcomeOf(const WriteResult& result) {
    for (const auto& item : result.items) {
      if (item.errc == Errc::kFenced) return Errc::kFenced;
    }
    return result.batch;
  }

  const std::shared_ptr<Watch> watch_;
};

}  // namespace stout
