#pragma once

#include <cstdint>
#include <string>

#include "blowfish/store/shard_manifest.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Makes a directory that is a shard as of one moment: with the records that the manifest names,
/// and the log files from its first one through `through`. Files are linked and not copied, so it
/// takes no room until the shard removes its own. All of them are closed: nobody writes to them any
/// more.
///
/// `to` must not exist. It is durable when this returns, unless there is an error; then it is
/// incomplete, and the caller or its user removes it.
///
/// Cost: some system calls for each file, and two syncs.   Blocks.
/// Errors: of the system, such as EXDEV if `to` is on another file system than `from`, or EEXIST.
[[nodiscard]] ErrorCode LinkShard(const std::string& from, const std::string& to,
                                  const ShardManifest& manifest, std::uint64_t through,
                                  Diagnostics* diagnostics);

}  // namespace stout::blowfish
