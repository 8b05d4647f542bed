#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "stout/core/random.h"

namespace stout::inline v1 {

/// Simulates an LRU cache for a sample of the keys, without values, and reports whether requests
/// would have hit.
///
/// A key is in the sample if its hash is below a threshold: the share rate() of all hashes. The hit
/// rate of the sampled keys in a cache of rate() times the bytes is about that of all keys in the
/// whole cache. The threshold is halved if the sample has more than `max_keys` keys, or would have
/// more of them in a full cache. If the cache is full with less than a quarter of `max_keys`, it is
/// doubled.
///
/// Keys that all fit into the cache therefore get a small sample, or none. This suffices if only
/// misses are counted, as Admission does, because such keys do not miss.
///
/// Memory: about 100 bytes for each of at most max_keys + 1 keys.
/// Owner: an Admission; it can be moved.   Threads: none of its own.   Errors: cannot fail.
/// Source: SHARDS (Waldspurger et al., FAST'15), "SHARDS algorithm".
class GhostCache {
 public:
  /// Requires max_keys >= 1.
  explicit GhostCache(std::size_t max_keys) : max_keys_(max_keys) {}
  GhostCache(GhostCache&&) = default;
  GhostCache& operator=(GhostCache&&) = default;

  /// Records a request for the key with this hash. `bytes`: the key's size in the cache.
  /// `capacity`: the bytes of the whole cache. Returns whether the key was in the ghost cache, or
  /// nullopt if the key is not in the sample.
  std::optional<bool> Touch(std::uint64_t hash, std::size_t bytes, std::size_t capacity);

  /// Halves the sample once if it would have more than max_keys keys when the cache is full. Call
  /// it from time to time: a new sample is large, so that a new tenant is judged soon.
  void Shrink(std::size_t capacity);

  /// Returns true if the key with this hash is in the sample. The decision uses bits that are
  /// independent of those that the caller's own tables use.
  [[nodiscard]] bool InSample(std::uint64_t hash) const { return SplitMix64(hash).Unit() < rate_; }
  /// Returns the share of all keys that are in the sample, in (0, 1].
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] std::size_t keys() const { return places_.size(); }

 private:
  struct Key {
    std::uint64_t hash;
    std::size_t bytes;
  };
  using Keys = std::list<Key>;  // least recently used first

  void Halve();
  void Drop(Keys::iterator key);

  std::size_t max_keys_;
  double rate_ = 1;
  Keys recent_;
  std::unordered_map<std::uint64_t, Keys::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace stout::inline v1
