#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "stout/forwarding_store.h"

namespace stout {

/// Wraps a store. While its gate is shut, calls wait; Open() sends them on, Drop() forgets them and
/// answers none of them.
///
/// Owner: owns the store underneath.   Threads: none of its own; callers serialise.
class GatedStore final : public ForwardingStore {
 public:
  explicit GatedStore(std::unique_ptr<Store> store)
      : ForwardingStore(*store), store_(std::move(store)) {}

  void Shut() { is_shut_ = holds_writes_ = true; }
  void HoldWrites() { holds_writes_ = true; }
  /// Lets new writes pass a shut gate.
  void LetWrites() { holds_writes_ = false; }
  void Open() {
    is_shut_ = holds_writes_ = false;
    for (UniqueFunction<void()>& call : std::exchange(calls_, {})) call();
  }
  void Drop() {
    for (UniqueFunction<void()>& call : std::exchange(calls_, {})) lost_.push_back(std::move(call));
  }
  /// Its answers to reads report a queue that is longer by this.
  void LengthenQueue(std::size_t requests) { queue_ = requests; }
  using ForwardingStore::underneath;
  [[nodiscard]] std::size_t reads() const { return reads_; }
  [[nodiscard]] std::size_t waiting() const { return calls_.size(); }

  void Write(const WriteBatch& batch, WriteHandler handler) override {
    Pass(holds_writes_, [this, &batch, handler = std::move(handler)]() mutable {
      store_->Write(batch, std::move(handler));
    });
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    ++reads_;
    Pass(is_shut_, [this, &batch, handler = std::move(handler)]() mutable {
      store_->Read(batch, [this, handler = std::move(handler)](ReadResult result) mutable {
        result.queue += queue_;
        handler(std::move(result));
      });
    });
  }
  void NewEpoch(EpochHandler handler) override {
    Pass(is_shut_,
         [this, handler = std::move(handler)]() mutable { store_->NewEpoch(std::move(handler)); });
  }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    Pass(is_shut_, [this, scope, epoch, handler = std::move(handler)]() mutable {
      store_->Fence(scope, epoch, std::move(handler));
    });
  }
  void Scan(const ScanRequest& request, ScanHandler handler) override {
    Pass(is_shut_, [this, request, handler = std::move(handler)]() mutable {
      store_->Scan(request, std::move(handler));
    });
  }

 private:
  template <typename Call>
  void Pass(bool holds, Call call) {
    if (!holds) return call();
    calls_.emplace_back(std::move(call));
  }

  std::unique_ptr<Store> store_;
  bool is_shut_ = false;
  bool holds_writes_ = false;
  std::size_t queue_ = 0;
  std::size_t reads_ = 0;
  std::deque<UniqueFunction<void()>> calls_;
  std::deque<UniqueFunction<void()>> lost_;  // a call keeps its batch
};

}  // namespace stout
