#pragma once

#include <string>

namespace stout::rocksdb_store {

// Returns the holder of the lock of the database in `path`, for an error message: "process 123
// (docstore)".
[[nodiscard]] std::string DescribeLockHolder(const std::string& path);

}  // namespace stout::rocksdb_store
