#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

#include "stout/core/batch.h"

namespace stout::rocksdb_store {

// Exact locks of keys. A batch takes all of its keys at once, or waits without holding any, so
// batches cannot deadlock. Batches with no key in common do not affect each other.
//
// A batch may wait long if other batches take its keys again and again. Interposers do not do that:
// each has at most one write of a key in flight, and a key has one owner except for moments.
class KeyLocks {
 private:
  struct Key {
    std::string_view bytes;  // Into the batch.
    std::size_t hash;        // Taken without the mutex.

    bool operator==(const Key& other) const { return hash == other.hash && bytes == other.bytes; }
  };
  struct TakeHash {
    using is_avalanching = void;  // std::hash of strings is; see boost::unordered.
    std::size_t operator()(const Key& key) const { return key.hash; }
  };

 public:
  // Holds the keys of `items`, which must outlive it.
  class Guard {
   public:
    Guard(KeyLocks& locks, const std::vector<WriteItem>& items);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();

   private:
    [[nodiscard]] bool CanTake() const;

    KeyLocks& locks_;
    std::vector<Key> keys_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  std::size_t waiting_ = 0;
  boost::unordered_flat_set<Key, TakeHash> held_;
};

}  // namespace stout::rocksdb_store
