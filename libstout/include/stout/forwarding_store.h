#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "stout/store.h"

namespace stout::inline v1 {

/// Passes every call on to another store. Base class of stores that change some calls:
///
///     class CountingStore final : public ForwardingStore {
///      public:
///       using ForwardingStore::ForwardingStore;
///       void Write(const WriteBatch& batch, WriteHandler handler) override {
///         items += batch.items.size();
///         ForwardingStore::Write(batch, std::move(handler));
///       }
///       std::atomic<std::size_t> items = 0;
///     };
///
/// Owner: refers to the store underneath, which outlives it and its calls.
/// Threads: any.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& store) : store_(store) {}

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
  void LimitScope(const Scope& scope, HashSlots slots) override { store_.LimitScope(scope, slots); }
  void Scan(const ScanRequest& request, ScanHandler handler) override {
    store_.Scan(request, std::move(handler));
  }
  void Search(const SearchRequest& request, SearchHandler handler) override {
    store_.Search(request, std::move(handler));
  }
  [[nodiscard]] std::vector<TenantStats> CachedByTenant() const override {
    return store_.CachedByTenant();
  }
  void Obey(std::shared_ptr<const Tenants> tenants) override { store_.Obey(std::move(tenants)); }

 protected:
  [[nodiscard]] Store& underneath() const { return store_; }

 private:
  Store& store_;
};

}  // namespace stout::inline v1
