// The shards of a server merge in turns.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "blowfish/store/merge_slots.h"
#include "tests/blowfish/shard_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CheckReads;
using test::Model;
using test::OpenedShard;

TEST_CASE("a shard merges when it is its turn among those of the server", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.merge_slots = std::make_shared<MergeSlots>(1);
  opened.Open();
  const MergeSlots& slots = *opened.options.merge_slots;
  auto other = opened.options.merge_slots->Take(1, {});
  REQUIRE(opened.Put("key1", 1, "here") == WriteResult());
  opened.shard().Compact();
  opened.PollUntil([&] { return opened.shard().stats().freezes == 1; });
  while (slots.usage().waiting == 0) {
    opened.shard().Poll();
    std::this_thread::yield();
  }
  CHECK(opened.shard().stats().merges == 0);

  SECTION("and does so then") {
    other.reset();
    opened.Rest();
    CHECK(opened.shard().stats().merges == 1);
  }
  SECTION("and ends without waiting for it") {
    opened.Close();
    CHECK(slots.usage().waiting == 0);
    opened.Open();
  }
  CheckReads(opened.shard(), {{"key1", {{1, 1}, "here"}}});
}

TEST_CASE("a merge that waited for its turn takes all that came meanwhile", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.merge_slots = std::make_shared<MergeSlots>(1);
  opened.options.compaction.freeze_bytes = 1 << 10;
  opened.options.compaction.merge_bytes = 2 << 10;
  opened.Open();
  const MergeSlots& slots = *opened.options.merge_slots;
  std::optional<MergeSlots::Slot> other = opened.options.merge_slots->Take(1, {});
  Model model;
  while (opened.shard().stats().freezes < 8 || slots.usage().waiting == 0) {
    const std::string key = "key" + std::to_string(model.size());
    REQUIRE(opened.Put(key, 1, "here") == WriteResult());
    model[key] = {{1, 1}, "here"};
    opened.shard().Poll();
  }
  CHECK(opened.shard().stats().merges == 0);
  other.reset();
  opened.Rest();
  CHECK(opened.shard().stats().merges == 1);
  CHECK(slots.usage().running == 0);
  CheckReads(opened.shard(), model);
}

}  // namespace
}  // namespace stout::blowfish
