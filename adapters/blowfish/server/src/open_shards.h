#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "shard_worker.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Opens the shards of a server's directory, side by side, or makes that many new ones there. Where
/// keys lie depends on how many shards there are, so a directory keeps the number that it was made
/// with.
///
/// `shards`: 0: as many as the directory has; of a new one, as there are processors.
/// kBadOptions: the directory has another number. kCorrupt: a shard is missing, or the number.
/// Otherwise Shard::Open's.   Blocks.
[[nodiscard]] Result<std::vector<std::unique_ptr<ShardWorker>>> OpenShards(
    const std::string& directory, std::size_t shards, const ShardOptions& options,
    Diagnostics* diagnostics);

}  // namespace stout::blowfish
