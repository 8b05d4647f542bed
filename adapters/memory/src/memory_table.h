#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "stout/adapters/memory_store.h"

namespace stout {

// The keys, their stamps and their tombstones. Threads: any; each call is atomic.
class MemoryStore::Table {
 public:
  explicit Table(Duration tombstone_ttl) : tombstone_ttl_(tombstone_ttl) {}

  [[nodiscard]] WriteResult Write(const WriteBatch& batch);
  [[nodiscard]] ReadResult Read(const ReadBatch& batch) const;
  [[nodiscard]] Epoch NewEpoch();
  [[nodiscard]] Errc Fence(const Scope& scope, Epoch epoch);
  // Requires a cursor that ScanPage::FirstKey() accepts.
  [[nodiscard]] ScanResult Scan(const ScanRequest& request) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Tombstone {
    Clock::time_point expires;
    std::string key;
  };
  struct Cell {
    Stamp stamp;
    bool deleted = false;
    std::list<Tombstone>::iterator tombstone{};  // if deleted
    std::string value;
  };
  // Null if there is no such key.
  [[nodiscard]] Cell* Find(std::string_view key) const;
  [[nodiscard]] Cell* Insert(const std::string& key);
  void Apply(const WriteItem& item, Stamp stamp, Clock::time_point now, Cell& cell);
  void CollectTombstones(Clock::time_point now);

  const Duration tombstone_ttl_;
  mutable std::mutex mutex_;
  std::map<std::string, Cell, std::less<>> cells_;  // In order, for scans.
  // The same cells: a tree of 100,000 keys is some ten cache misses deep.
  boost::unordered_flat_map<std::string_view, Cell*> index_;
  std::list<Tombstone> tombstones_;  // In order of expiry, one for each deleted cell.
  std::unordered_map<Scope, Epoch> fences_;
  Epoch max_epoch_ = 0;  // Given out or seen in a write.
};

}  // namespace stout
