#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/server/shard_memory.h"
#include "blowfish/server/shard_worker.h"
#include "stout/error.h"

namespace stout::blowfish {

/// In the directory of a server: the file with the number of its shards, and what the names of
/// their directories begin with.
inline constexpr const char* kNumberName = "shards";
inline constexpr std::string_view kShardPrefix = "shard-";

/// Opens the shards of a server's directory, in parallel, or creates that number of new ones there.
/// The place of a key depends on the number of shards, so a directory keeps the number that it was
/// created with.
///
/// A shard whose files are damaged or missing (kCorrupt), or that has other attributes than most
/// shards, is down if another one serves: see ShardWorker::MakeDown. Its files are left as they
/// are. See docs/decisions/0031-a-damaged-shard-is-down.md.
///
/// `options`: of each shard, except its part of the memory, which is set here.
/// `shards`: 0 means the directory's number; for a new directory, the number of processors.
/// Errors: kBadOptions if the directory has another number. kCorrupt if the file of the number is
///   damaged or missing, and if a shard is and all are, or the directory never was complete, or its
///   number has no checksum. Otherwise those of Shard::Open.   Blocks.
[[nodiscard]] Result<std::vector<std::unique_ptr<ShardWorker>>> OpenShards(
    const std::string& directory, std::size_t shards, const ShardOptions& options,
    const ShardMemory& memory, Diagnostics* diagnostics);

/// Returns the directory of a shard in the directory of its server.
[[nodiscard]] std::string ShardPath(const std::string& directory, std::size_t shard);

/// Returns the number of shards that a directory has, which is 0 if the directory is new.
/// Errors: kCorrupt if the file of the number is damaged.
[[nodiscard]] Result<std::size_t> CountShards(const std::string& directory,
                                              Diagnostics* diagnostics);

/// Notes in a directory that it has this number of shards, and all of them.   Errors: AtomicFile's.
[[nodiscard]] ErrorCode NoteShards(const std::string& directory, std::size_t shards,
                                   Diagnostics* diagnostics);

}  // namespace stout::blowfish
