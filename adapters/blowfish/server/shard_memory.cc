#include "blowfish/server/shard_memory.h"

#include <algorithm>

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// With less, a shard would sync files more than it writes to them.
constexpr std::uint64_t kMinMergeBytes = 2 * kMiB;
/// A start reads that much of each shard's log.
constexpr std::uint64_t kMaxMergeBytes = 64 * kMiB;
/// Records take about twice the memory of their log, and a merge needs room for what is written
/// meanwhile.
constexpr std::uint64_t kUnmergedOfMerge = 8;
/// A table of the log has no room for more changes, so a shard must not wait for more before it
/// freezes or merges.
constexpr std::uint64_t kMaxUnmerged = LogTable::kMaxBytes;
/// The table that is frozen, its sorted copy and the next table have room in this.
constexpr std::uint64_t kUnmergedOfFreeze = 4;

}  // namespace

void ShareMemory(const ShardMemory& memory, std::size_t shards, ShardOptions& shard) {
  CompactionOptions& compaction = shard.compaction;
  const std::uint64_t unmerged = memory.budget / 2 / shards;
  compaction.merge_bytes =
      memory.merge_bytes > 0
          ? std::min(memory.merge_bytes, kMaxUnmerged / kUnmergedOfMerge)
          : std::clamp(unmerged / kUnmergedOfMerge, kMinMergeBytes, kMaxMergeBytes);
  const std::uint64_t freeze =
      memory.freeze_bytes > 0 ? memory.freeze_bytes : std::max(compaction.merge_bytes / 4, kMiB);
  compaction.freeze_bytes = std::min(freeze, kMaxUnmerged / kUnmergedOfFreeze);
  compaction.max_unmerged_bytes =
      std::min(std::max({unmerged, kUnmergedOfFreeze * compaction.freeze_bytes,
                         kUnmergedOfMerge * compaction.merge_bytes}),
               kMaxUnmerged);
  shard.max_waiting_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(
      LogStoreOptions().max_waiting_bytes, compaction.max_unmerged_bytes / 2));
  shard.merge_memory = memory.budget / 2 / std::min(memory.merges, shards);
}

}  // namespace stout::blowfish
