#pragma once

#include <rocksdb/status.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "stout/adapters/error_log.h"
#include "stout/error.h"

namespace stout::rocksdb_store {

// Returns what an operator can do about the error `status` of the database at `path`, without a
// full stop.
[[nodiscard]] std::string Remedy(const rocksdb::Status& status, const std::string& path);

// Logs the errors of one database with remedies: the first of each code and subcode of RocksDB, and
// then at most one a minute.
//
// Threads: any.
class StatusLog {
 public:
  explicit StatusLog(std::string path) : path_(std::move(path)) {}

  void ReadFailed(const rocksdb::Status& status);
  void WriteFailed(const rocksdb::Status& status);
  // `line`: from Database::Open().
  void OpenFailed(ErrorCode error, const std::string& line);

  // A write was committed. Logs it if the log shows a failure of an earlier one.
  void Wrote() {
    if (shows_failure_) LogWrote();
  }

 private:
  // These require the mutex. They return whether the error is logged, not only counted.
  bool Log(const rocksdb::Status& status);
  bool Log(std::string_view kind, std::string line);
  void LogWrote();

  const std::string path_;
  std::mutex mutex_;
  ErrorLog errors_;
  rocksdb::Status cause_;  // of the last failure of a write
  std::atomic<bool> shows_failure_{false};
};

}  // namespace stout::rocksdb_store
