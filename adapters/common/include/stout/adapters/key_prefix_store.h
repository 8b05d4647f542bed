#pragma once

#include <memory>
#include <string>
#include <utility>

#include "stout/forwarding_store.h"

namespace stout {

/// A part of a store: the keys that begin with a prefix, which its users do not see.
///
///     KeyPrefixStore orders(std::make_shared<MemoryStore>(executor), "orders!");
///
/// Epochs and scopes are those of the whole store: users of several parts use different scopes. A
/// scan of an ordered store reads the part only. A scan of any other store, and a search, read the
/// whole store, and the limit of a search counts keys of the whole store. Each batch is copied,
/// because its keys become longer.
///
/// Owner: shares the store.
/// Threads: any.
/// Errors: those of the store.
class KeyPrefixStore final : public ForwardingStore {
 public:
  /// `prefix`: not empty.
  KeyPrefixStore(std::shared_ptr<Store> store, std::string prefix)
      : ForwardingStore(*store), store_(std::move(store)), prefix_(std::move(prefix)) {}

  [[nodiscard]] LaneId PartitionOf(KeyView key) const override {
    return store_->PartitionOf(Outer(key));
  }
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  /// Has no effect: the store sees other keys, which are in other slots.
  void LimitScope(const Scope&, HashSlots) override {}
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  void Search(const SearchRequest& request, SearchHandler handler) override;

 private:
  [[nodiscard]] std::string Outer(KeyView key) const { return prefix_ + std::string(key); }

  const std::shared_ptr<Store> store_;
  const std::string prefix_;
};

}  // namespace stout
