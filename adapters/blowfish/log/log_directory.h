#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stout/error.h"

namespace stout::blowfish {

/// A file being written. Tests replace it by a disk that fails and forgets.
///
/// Errors: those of the system (ENOSPC, EIO, ...). The effect of a failed call is open.
/// Threads: one at a time.
class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  virtual ~LogFile() = default;

  /// As pwrite(): may write less than all, and says how much.
  [[nodiscard]] virtual Result<std::size_t> Write(std::uint64_t offset, std::string_view bytes) = 0;

  /// Makes durable what was written and where the file ends. After a failure the system may have
  /// dropped what was not durable yet, and a second Sync() say that all is well.
  [[nodiscard]] virtual ErrorCode Sync() = 0;

  [[nodiscard]] virtual ErrorCode Truncate(std::uint64_t size) = 0;
};

/// All of `bytes`, in as many writes as it takes.
[[nodiscard]] ErrorCode WriteAll(LogFile& file, std::uint64_t offset, std::string_view bytes);

/// The folder that holds the log files of one shard. Names that appear or vanish are durable after
/// Sync(), what is in the files after theirs.
///
/// Threads: any.
class LogDirectory {
 public:
  static constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

  LogDirectory() = default;
  LogDirectory(const LogDirectory&) = delete;
  LogDirectory& operator=(const LogDirectory&) = delete;
  virtual ~LogDirectory() = default;

  /// For messages.
  [[nodiscard]] virtual const std::string& path() const = 0;

  [[nodiscard]] virtual Result<std::vector<std::string>> List() = 0;

  /// The first `limit` bytes of a file, or all where it has fewer.
  [[nodiscard]] virtual Result<std::string> Read(const std::string& name, std::uint64_t limit) = 0;

  /// A new file; an error if the name is in use.
  [[nodiscard]] virtual Result<std::unique_ptr<LogFile>> Create(const std::string& name) = 0;

  /// A file that exists, to write over some of it.
  [[nodiscard]] virtual Result<std::unique_ptr<LogFile>> Open(const std::string& name) = 0;

  /// No error where there is no such file.
  [[nodiscard]] virtual ErrorCode Remove(const std::string& name) = 0;

  [[nodiscard]] virtual ErrorCode Sync() = 0;
};

/// Makes a folder, and those above it, where they are not there: names that stay, for each lies in
/// the one above it.
[[nodiscard]] ErrorCode MakeDurably(const std::string& path);

/// Returns the names in a folder of the file system, in no order.   Errors: the system's.
[[nodiscard]] Result<std::vector<std::string>> ListNames(const std::string& path);

/// Opens a folder of the file system, creates it if it is missing, and locks it.
/// Errors: kTransient if this process or another one has it open, or if the system refuses it; the
///   diagnostics give the cause.
[[nodiscard]] Result<std::unique_ptr<LogDirectory>> OpenLogDirectory(
    const std::string& path, Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
