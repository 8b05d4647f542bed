#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::node {

/// The keys that clients use most, by a sketch of bounded size: Space-Saving (Metwally, Agrawal, El
/// Abbadi, ICDT 2005) over a sample of the uses. Older uses count less and less. Uses of keys that
/// are longer than kLongestKey bytes do not count.
///
/// Threads: any.
class HotKeys {
 public:
  static constexpr std::size_t kLongestKey = 1024;  ///< bounds the memory to 256 KiB and a little

  struct Key {
    std::string key;
    double share = 0;  ///< of all uses, at least
  };

  void Use(KeyView key) {
    thread_local SplitMix64 random(0);
    if (key.size() <= kLongestKey && random.Next() % kSampled == 0) Count(key);
  }
  /// Returns up to `most` keys with at least a hundredth of the uses, the hottest first.
  [[nodiscard]] std::vector<Key> Hottest(std::size_t most) const;

 private:
  static constexpr std::uint64_t kSampled = 16;  // uses for each one that counts
  static constexpr std::size_t kCounters = 256;  // a key with more than 1/256 of the uses has one
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 14;  // counts, before all are halved

  struct Counter {
    const std::string* key = nullptr;  // in places_
    std::uint64_t count = 0;           // of the key, at most
    std::uint64_t error = 0;           // the key has at least count - error
  };

  void Count(KeyView key);
  // Requires all counters to be in use. `hand_` is its place.
  [[nodiscard]] Counter& Least();
  void Halve();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> places_;  // of keys in counters_
  std::vector<Counter> counters_;
  std::uint64_t least_ = 0;   // no counter is below it
  std::size_t hand_ = 0;      // where the next search for the least begins
  std::uint64_t counts_ = 0;  // of all keys
};

}  // namespace stout::node
