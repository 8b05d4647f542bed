// Goal: a part of a search looks at a bounded number of records, for any number of matches. Method:
// it notes the numbers of a list that it walks, which takes memory.

#include <cstddef>
#include <cstdint>
#include <string>

#include "blowfish/store/shard_search.h"
#include "shard_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

TEST_CASE("the first step of a search notes at most kMaxListed numbers") {
  test::OpenedShard opened{Schema::Make({"colour"}, '|').value()};
  opened.options.compaction = {};
  opened.Open();
  WriteBatch batch{.epoch = 1};
  for (std::size_t i = 0; i < 8 * ShardSearch::kMaxListed; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "red", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  ShardSearch search = opened.shard().BeginSearch({.text = "red"});
  bool more = false;
  const std::size_t bytes =
      stout::test::MostBytesOf([&] { more = search.Step([](KeyView) { return true; }); });
  CHECK(more);
  // A vector that has just grown is there twice, the second time with room for as much again.
  CHECK(bytes <= 3 * sizeof(std::uint32_t) * ShardSearch::kMaxListed);
}

TEST_CASE("a search between whose parts nothing happens does not copy what is hidden") {
  test::OpenedShard opened{Schema::Make({"colour"}, '|').value()};
  opened.options.compaction = {};
  opened.Open();
  constexpr std::size_t kRecords = 1 << 17;
  WriteBatch batch{.epoch = 1};
  for (std::size_t i = 0; i < kRecords; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "red", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  ShardSearch search = opened.shard().BeginSearch({.text = "red"});
  std::uint64_t matches = 0;
  const std::size_t bytes = stout::test::MostBytesOf([&] {
    while (search.StepToCount(matches)) continue;
  });
  CHECK(matches == kRecords);
  CHECK(bytes < kRecords / 8);
}

}  // namespace
}  // namespace stout::blowfish
