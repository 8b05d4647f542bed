#pragma once

#include <cstddef>
#include <cstdint>

#include "blowfish/store/shard.h"

namespace stout::blowfish {

/// The memory of a server, and options that bound a part of it.
struct ShardMemory {
  /// For compressed data and layers. Writes take as much again: half of it for changes that are not
  /// merged, half for the merges.
  std::uint64_t budget = std::uint64_t{1} << 30;
  std::size_t merges = 1;          ///< maximum at a time
  std::uint64_t freeze_bytes = 0;  ///< of each shard: see CompactionOptions; 0: by the budget
  std::uint64_t merge_bytes = 0;   ///< likewise
};

/// Gives one of `shards` shards its part. Each gets 16 MiB for changes at least, and room for the
/// two options, whatever the budget, but at most LogTable::kMaxBytes, of which `freeze_bytes` is a
/// quarter at most. A merge may always build a file of 4 MiB of values, which takes up to 100 MB.
/// So the budget is kept if it is at least 32 MiB for each shard, and 200 MB for each merge at a
/// time.
void ShareMemory(const ShardMemory& memory, std::size_t shards, ShardOptions& shard);

}  // namespace stout::blowfish
