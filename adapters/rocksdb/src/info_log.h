#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace stout::rocksdb_store {

// Returns a log that passes the warnings and errors of RocksDB itself to spdlog, at level debug.
//
// RocksDB's default is a file beside the database. With assertions, as Debian builds it, version
// 7.8 aborts the process when it writes to that file again after the disk was full.
[[nodiscard]] std::shared_ptr<rocksdb::Logger> MakeInfoLog(std::string path);

}  // namespace stout::rocksdb_store
