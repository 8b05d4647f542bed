#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "stout/adapters/rocksdb_store.h"

namespace stout::test {

inline std::unique_ptr<RocksDbStore> OpenOrThrow(const RocksDbOptions& options) {
  Diagnostics why;
  auto store = RocksDbStore::Open(options, &why);
  if (!store) throw std::runtime_error(why.message);
  return *std::move(store);
}

// Flips a bit in the first data block of each table file.
inline void DamageTables(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    const int byte = file.get();
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 1));
  }
}

}  // namespace stout::test
