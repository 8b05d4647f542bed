#pragma once

#include <rocksdb/file_system.h>

#include <memory>

#include "stout/core/types.h"

namespace stout::rocksdb_store {

// `target`, except that each sync of a write-ahead log first blocks its thread for `delay`. Every
// call still reaches `target`, and its result is returned, so a database is as safe on it as on
// `target`. Threads: any.
[[nodiscard]] std::shared_ptr<rocksdb::FileSystem> MakeSlowLog(
    std::shared_ptr<rocksdb::FileSystem> target, Duration delay);

}  // namespace stout::rocksdb_store
