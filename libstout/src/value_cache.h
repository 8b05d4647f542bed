#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "stout/core/state_source.h"
#include "stout/core/types.h"
#include "stout/key_map.h"

namespace stout::internal {

/// Counts the bytes of values that are alive although no cache holds them.   Threads: any.
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

/// The newest states of keys in memory. The least recently used keys are dropped first. Keys that
/// are dirty are never dropped: `is_dirty(KeyView)` reports them.
///
/// Absent keys are remembered too: asking twice reads the store once.
/// Owner: a map.   Threads: none of its own; values may be released on any thread.
class ValueCache {
 public:
  using Entry = KeyMap::Entry;

  /// `max_bytes`: of keys, values, and values that callers still hold.
  ValueCache(std::size_t max_bytes, std::shared_ptr<std::atomic<std::size_t>> lent_by_all)
      : max_bytes_(max_bytes), ledger_(std::make_shared<Ledger>(std::move(lent_by_all))) {}
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;
  ~ValueCache();

  /// Returns the key's state as the one that was used last, or null.
  [[nodiscard]] const Entry* Use(KeyView key);
  /// As Use, but the key's place among the others stays.
  [[nodiscard]] const Entry* Find(KeyView key) const;
  /// As Application::serialize. Requires a key that is here.
  Serialized Serialize(KeyView key, std::string& out) const;

  /// Makes a value, which counts as lent until its last reference is gone or the cache holds it.
  [[nodiscard]] std::shared_ptr<const std::string> MakeValue(std::string text) const;
  template <typename IsDirty>
  void Keep(KeyView key, Entry entry, const IsDirty& is_dirty) {
    Set(key, std::move(entry));
    MakeRoom(is_dirty);
  }
  void Erase(KeyView key);
  template <typename Predicate>
  void EraseIf(const Predicate& predicate) {
    for (auto node = nodes_.begin(); node != nodes_.end();) {
      const auto next = std::next(node);
      if (predicate(KeyView(node->first))) Erase(node);
      node = next;
    }
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t lent() const { return ledger_->lent(); }

 private:
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(KeyView key) const { return std::hash<KeyView>{}(key); }
  };
  struct Node : boost::intrusive::list_base_hook<> {
    Entry entry;
    const std::string* key = nullptr;  // in `nodes_`, whose elements do not move
  };
  using Nodes = std::unordered_map<std::string, Node, KeyHash, std::equal_to<>>;
  struct NodeShape;

  /// Dirty keys met when room is needed before giving up.
  static constexpr int kEvictionTries = 16;

  [[nodiscard]] static std::size_t SizeOf(const std::string& key);
  void Set(KeyView key, Entry entry);
  void Drop(Entry& entry);
  void Erase(Nodes::iterator node);
  void Touch(Node& node) { recent_.splice(recent_.end(), recent_, recent_.iterator_to(node)); }

  // To drop a key whose value a caller holds frees nothing, but the next one may.
  template <typename IsDirty>
  void MakeRoom(const IsDirty& is_dirty) {
    for (int tries = 0; tries < kEvictionTries && recent_.size() > 1;) {
      if (bytes_ + ledger_->lent() <= max_bytes_) return;
      Node& oldest = recent_.front();
      if (is_dirty(KeyView(*oldest.key))) {
        Touch(oldest);
        ++tries;
      } else {
        Erase(nodes_.find(*oldest.key));
      }
    }
  }

  const std::size_t max_bytes_;
  Nodes nodes_;
  boost::intrusive::list<Node> recent_;  // least recently used first
  std::size_t bytes_ = 0;
  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace stout::internal
