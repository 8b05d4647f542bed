#include "status_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>

namespace stout::rocksdb_store {

using rocksdb::Status;

std::string Remedy(const Status& status, const std::string& path) {
  if (status.IsNoSpace()) return fmt::format("free some space on the disk of {}", path);
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return "restore the database from a backup";
  }
  if (status.IsIOError()) {
    return fmt::format("check the disk of {}, and the rights, quota and ulimit of this user", path);
  }
  return "log at level debug to see RocksDB's own lines";
}

void StatusLog::ReadFailed(const Status& status) {
  const std::lock_guard lock(mutex_);
  Log(status);
}

void StatusLog::WriteFailed(const Status& status) {
  const std::lock_guard lock(mutex_);
  // RocksDB is busy while it recovers by itself from what was logged before.
  if (!status.IsBusy() || cause_.ok()) cause_ = status;
  if (Log(cause_)) shows_failure_ = true;
}

void StatusLog::OpenFailed(ErrorCode error, const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (Log(fmt::format("open/{}", error.value()), line)) shows_failure_ = true;
}

bool StatusLog::Log(const Status& status) {
  return Log(
      fmt::format("{}/{}", static_cast<int>(status.code()), static_cast<int>(status.subcode())),
      fmt::format("rocksdb:{}: {}; {}", path_, status.ToString(), Remedy(status, path_)));
}

bool StatusLog::Log(std::string_view kind, std::string line) {
  const auto logged = errors_.Line(kind, std::move(line), std::chrono::steady_clock::now());
  if (logged) spdlog::error("{}", *logged);
  return logged.has_value();
}

void StatusLog::LogWrote() {
  if (shows_failure_.exchange(false)) spdlog::info("rocksdb:{}: writes succeed again", path_);
}

}  // namespace stout::rocksdb_store
