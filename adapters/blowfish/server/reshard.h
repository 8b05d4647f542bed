#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "blowfish/server/shard_memory.h"
#include "blowfish/store/merge_slots.h"
#include "stout/error.h"

namespace stout::blowfish {

struct ReshardOptions {
  std::string directory;
  std::size_t shards = 0;  ///< afterwards
  ShardMemory memory;      ///< for the old shards and the new ones each
  std::shared_ptr<MergeSlots> merge_slots;
  /// How long a shard whose log or merges fail is tried again. It may take longer to make room,
  /// as long as nothing fails.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
};

/// How many keys are copied, deleted ones not counted, and how many there are.
struct ReshardProgress {
  std::uint64_t keys = 0;
  std::uint64_t all = 0;
};

/// Gives the directory of a server that does not run another number of shards. Keys, their stamps,
/// tombstones, fences, epochs and the identity of the data stay.
///
/// It copies all keys into DIRECTORY.resharding. At the end DIRECTORY becomes
/// DIRECTORY.before-reshard, and the copy gets its name. Until then a server refuses DIRECTORY,
/// because what it wrote would be missing in the copy: see CheckNotResharding(). If it is stopped
/// or killed, the next call goes on.
///
/// `go_on` is called from time to time; false stops it.
/// Space: of a second copy.   Blocks.   Threads: starts those of all shards.
/// Errors: OpenShards'. kBadOptions if the directory has that number of shards already, if a shard
///   is down, or if the result of an earlier call is in the way, or a copy that may lack writes.
///   kTransient if it was stopped, or if a shard cannot be written to, with the reason.
[[nodiscard]] ErrorCode Reshard(const ReshardOptions& options,
                                const std::function<bool(const ReshardProgress&)>& go_on,
                                Diagnostics* diagnostics);

/// Returns where Reshard() leaves the shards that the directory had.
[[nodiscard]] std::string ShardsBefore(const std::string& directory);

/// kBadOptions: a Reshard() of the directory has begun and is not complete. The directory may have
/// its new name already: then there are no shards in it, and those of DIRECTORY.resharding are its.
/// kBadUrl or kTransient: the directory cannot be read.
[[nodiscard]] ErrorCode CheckNotResharding(const std::string& directory, Diagnostics* diagnostics);

}  // namespace stout::blowfish
