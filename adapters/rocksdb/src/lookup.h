#pragma once

#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstddef>
#include <vector>

#include "database.h"

namespace stout::rocksdb_store {

// The records of some keys, where RocksDB has them: they are not copied.
class Lookup {
 public:
  template <typename Items, typename KeyOf>
  Lookup(const Database& database, const Items& items, KeyOf key_of,
         const rocksdb::ReadOptions& options = {})
      : values_(items.size()), statuses_(items.size()) {
    std::vector<rocksdb::Slice> keys;
    keys.reserve(items.size());
    for (const auto& item : items) keys.emplace_back(key_of(item));
    database->MultiGet(options, database.records(), keys.size(), keys.data(), values_.data(),
                       statuses_.data());
  }

  [[nodiscard]] const rocksdb::PinnableSlice& bytes(std::size_t i) const { return values_[i]; }
  [[nodiscard]] const rocksdb::Status& status(std::size_t i) const { return statuses_[i]; }

 private:
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

}  // namespace stout::rocksdb_store
