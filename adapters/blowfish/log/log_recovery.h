#pragma once

#include <cstddef>
#include <cstdint>

#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_format.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

/// The findings of a start.
struct RecoveryReport {
  std::size_t files = 0;
  std::size_t groups = 0;
  std::size_t operations = 0;
  std::uint64_t bytes = 0;      ///< bytes of the files, as far as they count
  std::uint64_t cut_bytes = 0;  ///< At the end of the last file: never acknowledged. Without zeros.
};

struct RecoveredLog {
  LogPlace end;                     ///< the point at which the log goes on
  std::uint64_t last_sequence = 0;  ///< highest sequence found: the next file's is above
  RecoveryReport report;
};

/// Reads the log of a shard and hands over its operations, in the order in which they were written.
/// Their views are valid during the call.
///
/// The log is the newest file whose header is whole, and the files that the headers name, back to
/// `first_sequence`; 0 means all. Older files have been compacted, and are removed. Other files
/// were begun and never used, and are removed as well.
///
/// All operations that are handed over are durable. No frame proves that for the end of the last
/// file: its writer may have died before the sync, or after a failed sync, of which the system
/// remembers nothing. Therefore that end is written once more, with the same bytes, and synced.
///
/// Errors: kCorrupt if it is damaged, if a part cannot be read (EIO), or if it is not the log of
///   this shard. The diagnostics name file and offset, and part of the operations may have been
///   handed over. Otherwise kTransient if the disk cannot be read or written; the diagnostics give
///   the cause.
/// Cost: one pass over the files; memory for the largest.
[[nodiscard]] Result<RecoveredLog> RecoverLog(LogDirectory& directory, std::uint64_t shard,
                                              std::uint64_t first_sequence,
                                              UniqueFunction<void(const Operation&)> replay,
                                              Diagnostics* diagnostics = nullptr);

/// Removes the files up to and including `through`. Call it once a compaction has made their
/// content durable elsewhere; see LogStore::Freeze. Files that stay after an error are removed at
/// the next start.
[[nodiscard]] ErrorCode RemoveLogs(LogDirectory& directory, std::uint64_t through);

}  // namespace stout::blowfish
