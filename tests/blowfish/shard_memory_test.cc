#include "blowfish/server/shard_memory.h"

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

ShardOptions PartOf(const ShardMemory& memory, std::size_t shards) {
  ShardOptions shard;
  ShareMemory(memory, shards, shard);
  return shard;
}

TEST_CASE("changes and merges of all shards take as much as the budget", "[shard_memory]") {
  const ShardOptions shard = PartOf({.budget = 4096 * kMiB, .merges = 2}, 4);
  CHECK(shard.compaction.max_unmerged_bytes == 512 * kMiB);
  CHECK(shard.compaction.merge_bytes == 64 * kMiB);
  CHECK(shard.compaction.freeze_bytes == 16 * kMiB);
  CHECK(shard.merge_memory == 1024 * kMiB);
  CHECK(shard.max_waiting_bytes == 64 * kMiB);
}

TEST_CASE("a shard gets some megabytes, however small the budget", "[shard_memory]") {
  const ShardOptions shard = PartOf({.budget = 1}, 64);
  CHECK(shard.compaction.merge_bytes == 2 * kMiB);
  CHECK(shard.compaction.freeze_bytes == kMiB);
  CHECK(shard.compaction.max_unmerged_bytes == 16 * kMiB);
  CHECK(shard.max_waiting_bytes == 8 * kMiB);
}

TEST_CASE("bounds that were given have the room that they need", "[shard_memory]") {
  const ShardOptions shard =
      PartOf({.budget = kMiB, .freeze_bytes = 64 * kMiB, .merge_bytes = 100 * kMiB}, 2);
  CHECK(shard.compaction.merge_bytes == 100 * kMiB);
  CHECK(shard.compaction.freeze_bytes == 64 * kMiB);
  CHECK(shard.compaction.max_unmerged_bytes == 800 * kMiB);
}

// Otherwise writes would wait for ever: the table is full before a freeze or a merge is due.
TEST_CASE("a shard holds no more changes than a table takes, whatever the options",
          "[shard_memory]") {
  constexpr std::uint64_t kGiB = 1024 * kMiB;
  const ShardMemory memory = GENERATE(values<ShardMemory>(
      {{.freeze_bytes = 64 * kGiB, .merge_bytes = 64 * kGiB},
       {.budget = 1024 * kGiB, .freeze_bytes = 64 * kGiB, .merge_bytes = UINT64_MAX}}));
  const ShardOptions shard = PartOf(memory, 1);
  CHECK(shard.compaction.max_unmerged_bytes == LogTable::kMaxBytes);
  CHECK(shard.compaction.freeze_bytes == LogTable::kMaxBytes / 4);
}

}  // namespace
}  // namespace stout::blowfish
