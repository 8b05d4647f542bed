#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "stout/store.h"

namespace stout {

/// Passes every call on to a store. Scans that start at about the same time read each page of the
/// store once. So the ranges of a node that are filled together list its keys once, not once each.
///
/// A scan starts with an empty cursor and waits for StartGathered. Each page is read after all
/// scans that get it have started. A scan that falls far behind the others reads its pages alone.
///
/// Owner: refers to the store, which outlives it and its calls.
/// Threads: any.
class SharedScans final : public Store {
 public:
  explicit SharedScans(Store& store);
  ~SharedScans() override;

  /// Starts the scans that wait. Call it from time to time.
  void StartGathered();

  [[nodiscard]] const StoreTraits& traits() const override { return store_.traits(); }
  [[nodiscard]] LaneId PartitionOf(KeyView key) const override { return store_.PartitionOf(key); }
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    store_.Write(batch, std::move(handler));
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    store_.Read(batch, std::move(handler));
  }
  void NewEpoch(EpochHandler handler) override { store_.NewEpoch(std::move(handler)); }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    store_.Fence(scope, epoch, std::move(handler));
  }
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  void Search(const SearchRequest& request, SearchHandler handler) override {
    store_.Search(request, std::move(handler));
  }
  [[nodiscard]] std::vector<TenantStats> CachedByTenant() const override {
    return store_.CachedByTenant();
  }
  void Obey(std::shared_ptr<const Tenants> tenants) override { store_.Obey(std::move(tenants)); }

 private:
  class State;

  Store& store_;
  const std::shared_ptr<State> state_;  // shared with the calls under way
};

}  // namespace stout
