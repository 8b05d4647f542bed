#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>

#include "stout/core/batch.h"

namespace stout::rocksdb_store {

// Exact locks of keys. A group of batches takes all of its keys at once, or waits without holding
// any, so groups cannot deadlock. Groups with no key in common do not affect each other.
//
// A group may wait long if others take its keys again and again. Interposers do not do that: each
// has at most one write of a key in flight, and a key has one owner except for moments.
class KeyLocks {
 private:
  struct Key {
    std::string_view bytes;  // into the batch
    std::size_t hash;        // taken without the mutex

    bool operator==(const Key& other) const { return hash == other.hash && bytes == other.bytes; }
  };
  struct TakeHash {
    using is_avalanching = void;  // std::hash of strings is; see boost::unordered.
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  using Keys = boost::unordered_flat_set<Key, TakeHash>;

 public:
  // Holds the keys of the longest prefix of `batches` in which no two batches have a key in common.
  // The batches must outlive it.
  class Guard {
   public:
    using Batches = std::span<const WriteBatch* const>;

    // Requires one batch at least.
    Guard(KeyLocks& locks, Batches batches);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard();

    // Returns the batches whose keys are held.
    [[nodiscard]] Batches batches() const { return batches_; }

   private:
    [[nodiscard]] bool Add(const WriteBatch& batch);
    [[nodiscard]] bool CanTake() const;

    KeyLocks& locks_;
    Keys keys_;
    Batches batches_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  std::size_t waiting_ = 0;
  Keys held_;
};

}  // namespace stout::rocksdb_store
