#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/admission.h"
#include "stout/core/key_index.h"
#include "stout/core/random.h"
#include "stout/core/segmented_lru.h"
#include "stout/core/state_source.h"
#include "stout/core/types.h"
#include "stout/key_map.h"
#include "stout/tenants.h"

namespace stout::internal {

/// Counts the bytes of values that callers hold and no cache holds.   Threads: any.
class Ledger {
 public:
  explicit Ledger(std::shared_ptr<std::atomic<std::size_t>> all) : all_(std::move(all)) {}

  void Add(std::size_t bytes) {
    lent_.fetch_add(bytes, std::memory_order_relaxed);
    if (all_) all_->fetch_add(bytes, std::memory_order_relaxed);
  }
  void Subtract(std::size_t bytes) {
    lent_.fetch_sub(bytes, std::memory_order_relaxed);
    if (all_) all_->fetch_sub(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t lent() const { return lent_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> lent_ = 0;
  const std::shared_ptr<std::atomic<std::size_t>> all_;
};

/// The newest states of keys in memory, in the order of a SegmentedLru. A key for which
/// `is_dirty(KeyView)` returns true is never dropped.
///
/// Tenants share it. Once it is full, Admission decides which states may enter when they are read.
/// The other states are guests, and Admission decides again when a guest is used. Admission learns
/// once the cache is half full. Changes always enter. A state is charged to the tenant that used it
/// last.
///
/// Absent keys are remembered too, so that a second request for one does not read the store.
/// Owner: a map.   Threads: none of its own; values may be released on any thread.
class ValueCache {
 public:
  using Entry = KeyMap::Entry;

  /// `max_bytes`: limit of keys, values, and values that callers still hold.
  ValueCache(std::size_t max_bytes, std::shared_ptr<std::atomic<std::size_t>> lent_by_all,
             std::shared_ptr<const Tenants> tenants)
      : max_bytes_(max_bytes),
        order_(max_bytes),
        admission_(max_bytes, {.sampled_keys = SampledKeys(max_bytes)}),
        tenants_(std::move(tenants)),
        ledger_(std::make_shared<Ledger>(std::move(lent_by_all))) {}
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;
  ~ValueCache();

  /// Returns the key's state, or null. A state counts as a hit, unless the request was counted
  /// before.
  [[nodiscard]] const Entry* Use(KeyView key, const FetchOptions& options);
  /// As Use, but does not count.
  [[nodiscard]] const Entry* Find(KeyView key) const;
  /// As KeyMap::Prefetch.
  void Prefetch(std::span<const KeyView> keys) const;
  /// As Application::serialize. Requires that the key is in the cache.
  Serialized Serialize(KeyView key, std::string& out);

  /// Makes a value, which counts as lent until its last reference is gone or the cache holds it.
  [[nodiscard]] std::shared_ptr<const std::string> MakeValue(std::string text) const;
  /// Takes the state that a change has made.
  template <typename IsDirty>
  void Keep(KeyView key, Entry entry, const IsDirty& is_dirty) {
    Node& node = Set(key, std::move(entry));
    Stay(node);
    MakeRoom(is_dirty);
    order_.Insert(node);
  }
  /// Takes a state that was read. Counts as a miss, unless the request was counted before.
  template <typename IsDirty>
  void KeepRead(KeyView key, Entry entry, const FetchOptions& options, const IsDirty& is_dirty) {
    Node& node = Set(key, std::move(entry));
    Enter(node, options);
    MakeRoom(is_dirty);
    order_.Insert(node);
  }
  void Erase(KeyView key);
  template <typename Predicate>
  void EraseIf(const Predicate& predicate) {
    for (const std::unique_ptr<Node>& node : nodes_) {
      if (node && predicate(KeyView(node->key))) Erase(*node);
    }
  }

  /// Returns the options for a read of the store, for a key that is not in the cache.
  [[nodiscard]] FetchOptions ForStore(FetchOptions options) const {
    options.yields |= half_full() && admission_.Yields(options.tenant);
    return options;
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t lent() const { return ledger_->lent(); }

  [[nodiscard]] std::vector<TenantStats> ByTenant() const { return admission_.Stats(); }

 private:
  // The sample of each tenant takes less than 1 % of the cache, if the cache is not tiny.
  [[nodiscard]] static std::size_t SampledKeys(std::size_t max_bytes) {
    return std::clamp<std::size_t>(max_bytes >> 14U, 64, 1024);
  }

  struct Node : SegmentedLruElement {
    bool is_guest = false;  // may be on probation until the request that read it uses it
    TenantId tenant = 0;
    Entry entry;
    KeyIndex::Slot slot = 0;  // in nodes_
    std::uint32_t hash = 0;
    std::string key;

    // Loads the node into the processor's caches.
    void Prefetch() const {
      __builtin_prefetch(this);
      __builtin_prefetch(&key);
    }
    // Loads its key, and where its value is.
    void PrefetchTexts() const {
      __builtin_prefetch(key.data());
      __builtin_prefetch(entry.value.get());
    }
    // Loads the beginning of its value.
    void PrefetchValue() const {
      if (entry.value) __builtin_prefetch(entry.value->data());
    }
  };

  /// Maximum number of dirty keys that MakeRoom passes before it gives up.
  static constexpr int kEvictionTries = 16;

  [[nodiscard]] static std::size_t SizeOf(const Node& node);
  [[nodiscard]] Node* NodeOf(KeyView key, std::uint32_t hash) const;
  void PrefetchNext(Node& node);
  Node& Add(KeyView key, std::uint32_t hash);
  // Returns the key's node, which is then not in order_.
  Node& Set(KeyView key, Entry entry);
  void Enter(Node& node, const FetchOptions& options);
  [[nodiscard]] bool Admits(TenantId tenant) { return admission_.Admits(tenant, random_.Unit()); }
  void MoveToGuests(Node& node);
  static void Stay(Node& node);
  void Observe(Node& node, TenantId tenant, bool hit);
  void Account(Node& node, TenantId tenant);
  void Resize(Node& node, std::size_t bytes);
  void Drop(Entry& entry);
  void Erase(Node& node);
  [[nodiscard]] bool half_full() const { return bytes_ + ledger_->lent() > max_bytes_ / 2; }
  [[nodiscard]] bool full() const { return bytes_ + ledger_->lent() > max_bytes_; }

  // Dropping a key whose value a caller holds frees nothing, so the loop goes on. After a dirty
  // key, the protected segment is tried next, because all keys of the others may be dirty.
  template <typename IsDirty>
  void MakeRoom(const IsDirty& is_dirty) {
    for (int tries = 0; full() && tries < kEvictionTries && !order_.empty();) {
      Node* const other = tries % 2 == 1 ? order_.NextProtected() : nullptr;
      Node& next = other != nullptr ? *other : order_.Next();
      if (is_dirty(KeyView(next.key))) {
        order_.Requeue(next);
        ++tries;
      } else {
        Erase(next);
      }
    }
  }

  const std::size_t max_bytes_;
  std::vector<std::unique_ptr<Node>> nodes_;  // with holes
  std::vector<KeyIndex::Slot> holes_;
  KeyIndex index_;
  SegmentedLru<Node> order_;
  std::size_t bytes_ = 0;
  Admission admission_;
  const std::shared_ptr<const Tenants> tenants_;
  std::uint64_t obeyed_ = 0;  // see Tenants::ApplyTo
  SplitMix64 random_{0};
  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace stout::internal
