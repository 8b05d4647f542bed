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

/// Gives one of `shards` shards its part. Each gets a few megabytes at least, and room for the two
/// options, whatever the budget.
void ShareMemory(const ShardMemory& memory, std::size_t shards, ShardOptions& shard);

}  // namespace stout::blowfish
