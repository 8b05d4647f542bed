#pragma once

#include <cstdint>
#include <string>

#include "blowfish/log/log_directory.h"
#include "blowfish/store/shard_manifest.h"
#include "stout/error.h"

namespace stout::blowfish {

/// A moment of a shard whose files are on the disk.
struct BackupSource {
  std::string directory;
  const ShardManifest& manifest;
  LogDirectory& log;
  std::uint64_t through = 0;  ///< The log files up to here are closed. The next one exists.
};

/// Makes the directory `to` a shard as of that moment: with the records that the manifest names,
/// and the log files from its first one through `through`. Files are linked. So they take no room
/// until the source removes its own. The last log file gets a mark with its end, as at a clean end
/// of the shard, so a copy that lacks something of it is refused.
///
/// The directory above `to` exists, and `to` does not. It is durable when this returns without an
/// error.
///
/// Cost: some system calls for each file, and about six syncs.   Blocks.
/// Errors: of the system, such as EXDEV if `to` is on another file system.
[[nodiscard]] ErrorCode LinkShard(const BackupSource& source, const std::string& to,
                                  Diagnostics* diagnostics);

}  // namespace stout::blowfish
