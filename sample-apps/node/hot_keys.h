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
/// Abbadi, ICDT 2005) over a sample of the uses. Older uses count less and less.
///
/// Threads: any.
class HotKeys {
 public:
  struct Key {
    std::string key;
    double share = 0;  ///< of all uses, at least
  };

  void Use(KeyView key) {
    thread_local SplitMix64 random(0);
    if (random.Next() % kSampled == 0) Count(key);
  }
  /// Returns up to `most` keys with at least a hundredth of the uses, the hottest first.
  [[nodiscard]] std::vector<Key> Hottest(std::size_t most) const;

 private:
  static constexpr std::uint64_t kSampled = 16;  // one use in so many counts
  static constexpr std::size_t kCounters = 256;  // of keys with more than 1/256 none is missing
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 14;  // counts, before all are halved

  struct Counter {
    std::uint64_t count = 0;
    std::uint64_t error = 0;  // the count is at most so much too high
  };

  void Count(KeyView key);
  void Halve();

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Counter> counters_;
  std::uint64_t counts_ = 0;  // of all keys
};

}  // namespace stout::node
