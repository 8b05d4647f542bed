#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>

namespace stout::bench {

/// A cache with S3-FIFO eviction, an opponent of libstout's own caches. It does not know tenants.
///
/// | queue | holds                    | its oldest key                                    |
/// |-------|--------------------------|---------------------------------------------------|
/// | small | new keys                 | moves to main if it was used twice; or is evicted |
/// | main  | keys that were used more | loses one use and becomes the newest; or, if it   |
/// |       |                          | has none, is evicted                              |
/// | ghost | keys that small evicted  | is forgotten                                      |
///
/// A key that is inserted while it is in ghost goes to main. At most three uses of a key count. If
/// room is needed and small has at least 10 % of the bytes, small evicts. Otherwise main does.
///
/// The keys in ghost had at most 90 % of the bytes. The memory of ghost itself is not counted,
/// because a short hash of each key would be enough for it.
///
/// Owner: its creator; neither copied nor moved.   Threads: none of its own.
/// Errors: a value that is larger than the cache is not kept.
/// Paper: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP'23), algorithm 1.
template <typename Key, typename Value>
class S3Fifo {
 public:
  explicit S3Fifo(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  S3Fifo(const S3Fifo&) = delete;
  S3Fifo& operator=(const S3Fifo&) = delete;

  /// Returns the key's value, or null, and counts the use. Valid until the next Insert.
  const Value* Use(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    Entry& entry = found->second;
    if (entry.uses < kMaxUses) ++entry.uses;
    return &entry.value;
  }

  /// Takes a value that takes `bytes`. Does nothing if the key is here.
  void Insert(const Key& key, Value value, std::size_t bytes) {
    if (bytes > max_bytes_ || entries_.contains(key)) return;
    while (this->bytes() + bytes > max_bytes_) Evict();
    Queue& queue = Forget(key) ? main_ : small_;
    queue.Push(*entries_.emplace(key, Entry{std::move(value), bytes}).first);
  }

  [[nodiscard]] std::size_t bytes() const { return small_.bytes + main_.bytes; }
  [[nodiscard]] std::size_t ghosts() const { return ghosts_.size(); }

 private:
  struct Entry {
    Value value;
    std::size_t bytes = 0;
    std::uint8_t uses = 0;  // since it came to its queue
  };
  using Entries = std::unordered_map<Key, Entry>;
  using Node = typename Entries::value_type;
  struct Queue {
    void Push(Node& node) {
      nodes.push_back(&node);
      bytes += node.second.bytes;
    }
    Node& Pop() {
      Node& node = *nodes.front();
      nodes.pop_front();
      bytes -= node.second.bytes;
      return node;
    }
    std::deque<Node*> nodes;  // oldest first
    std::size_t bytes = 0;
  };
  struct Ghost {
    Key key;
    std::size_t bytes;  // of its value
  };
  using Ghosts = std::list<Ghost>;

  // All from the paper.
  static constexpr std::uint8_t kMaxUses = 3;
  static constexpr std::uint8_t kPromotedBy = 2;  // uses
  static constexpr std::size_t kSmallPercent = 10;
  static constexpr std::size_t kGhostPercent = 90;

  // Evicts a key, or moves all of small to main. Requires a key.
  void Evict() {
    const bool from_small = small_.bytes * 100 >= max_bytes_ * kSmallPercent;
    from_small || main_.nodes.empty() ? EvictSmall() : EvictMain();
  }

  void EvictSmall() {
    while (!small_.nodes.empty()) {
      Node& next = small_.Pop();
      if (next.second.uses < kPromotedBy) {
        Remember(next.first, next.second.bytes);
        return Erase(next);
      }
      next.second.uses = 0;
      main_.Push(next);
    }
  }

  void EvictMain() {
    while (true) {
      Node& next = main_.Pop();
      if (next.second.uses == 0) return Erase(next);
      --next.second.uses;
      main_.Push(next);
    }
  }

  void Erase(const Node& node) { entries_.erase(entries_.find(node.first)); }

  void Remember(const Key& key, std::size_t bytes) {
    ghost_of_[key] = ghosts_.insert(ghosts_.end(), {key, bytes});
    ghost_bytes_ += bytes;
    while (ghost_bytes_ * 100 > max_bytes_ * kGhostPercent)
      Drop(ghost_of_.find(ghosts_.front().key));
  }

  // Returns whether the key was a ghost.
  bool Forget(const Key& key) {
    const auto found = ghost_of_.find(key);
    if (found == ghost_of_.end()) return false;
    Drop(found);
    return true;
  }

  void Drop(typename std::unordered_map<Key, typename Ghosts::iterator>::iterator ghost) {
    ghost_bytes_ -= ghost->second->bytes;
    ghosts_.erase(ghost->second);
    ghost_of_.erase(ghost);
  }

  const std::size_t max_bytes_;
  Entries entries_;
  Queue small_;
  Queue main_;
  Ghosts ghosts_;  // oldest first
  std::unordered_map<Key, typename Ghosts::iterator> ghost_of_;
  std::size_t ghost_bytes_ = 0;
};

}  // namespace stout::bench
