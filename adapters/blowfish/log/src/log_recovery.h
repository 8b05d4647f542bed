#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "log_directory.h"
#include "log_format.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

/// What a start found, and what it cost.
struct RecoveryReport {
  std::size_t files = 0;
  std::size_t groups = 0;
  std::size_t operations = 0;
  std::uint64_t bytes = 0;      ///< Of the files, as far as they count.
  std::uint64_t cut_bytes = 0;  ///< At the end of the last file: never acknowledged. Without zeros.
  std::chrono::nanoseconds took{};
};

struct RecoveredLog {
  LogPlace end;                     ///< Where the log goes on.
  std::uint64_t last_sequence = 0;  ///< Of the files found: the next one's is above.
  RecoveryReport report;            ///< Without `took`.
};

/// Reads the log of a shard and hands over its operations, in the order in which they were written.
/// What they point to is valid during the call.
///
/// The log is the newest file whose header is whole and those that the headers name, back to
/// `first_sequence`: what is older has been compacted, and the files are removed; 0 means all.
/// Other files were begun and never used, and are removed as well.
///
/// What is handed over is durable. No frame proves that of the end of the last file: its writer may
/// have died before the sync, or after one that failed, of which the system remembers nothing. That
/// end is written once more, the same bytes over the same, and synced.
///
/// Errors: kCorrupt: damaged, or not the log of this shard; the diagnostics name file and offset,
/// and part of the operations may have been handed over. kTransient: the disk refuses to be read or
/// written; the diagnostics say why.
/// Cost: one pass over the files; memory for the largest.
[[nodiscard]] Result<RecoveredLog> RecoverLog(LogDirectory& directory, std::uint64_t shard,
                                              std::uint64_t first_sequence,
                                              UniqueFunction<void(const Operation&)> replay,
                                              Diagnostics* diagnostics = nullptr);

/// Removes the files up to and including `through`, once a compaction has made durable elsewhere
/// that it took what is in them; see LogStore::Freeze. What is left after an error is removed at
/// the next start.
[[nodiscard]] ErrorCode RemoveLogs(LogDirectory& directory, std::uint64_t through);

}  // namespace stout::blowfish
