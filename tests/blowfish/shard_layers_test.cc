// Layers of a shard come from a thread beside it: they count when they are ordered, and serve when
// they are full.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "shard_fixture.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using test::CheckReads;
using test::OpenedShard;

constexpr int kRecords = 300;

std::string ValueOf(Version version) {
  std::string value = "x" + std::to_string(version) + "|" + std::to_string(version % 7) + "|";
  for (int i = 0; i < 40; ++i) value += std::to_string(version % 13) + " words ";
  return value;
}

// A shard with compressed records, which may have one file at a time filled.
class LayeredShard {
 public:
  explicit LayeredShard(Encoding encoding = Encoding::kIndex,
                        std::uint64_t max_file_bytes = 1 << 18,
                        std::uint64_t merge_memory = ShardOptions().merge_memory)
      : opened{Schema::Make({"a", "b", "c"}, '|').value(), encoding == Encoding::kText} {
    opened.options.encoding = encoding;
    opened.options.compaction = {};
    opened.options.max_file_bytes = max_file_bytes;
    opened.options.merge_memory = merge_memory;
    opened.options.fill_slots = std::make_shared<MergeSlots>(1);
    opened.Open();
    for (int i = 0; i < kRecords; ++i) Put(i);
    Compact();
  }

  void Put(int number) {
    const std::string key = "key" + std::to_string(number);
    ++version_;
    REQUIRE(opened.Put(key, version_, ValueOf(version_)) == WriteResult());
    model[key] = {{1, version_}, ValueOf(version_)};
  }
  void Compact() {
    opened.shard().Compact();
    opened.Rest();
  }
  void WaitUntilFull() {
    opened.PollUntil([this] { return !opened.shard().filling(); });
  }
  // As long as the slot exists, no layer gets full.
  [[nodiscard]] MergeSlots::Slot HoldFilling() { return *opened.options.fill_slots->Take(1, {}); }
  // Returns true if no layer of an index, or of a text index, lacks values.
  [[nodiscard]] bool full() {
    const SuccinctStores& files = opened.shard().files();
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].index_layers().filling()) return false;
    }
    return !opened.shard().filling();
  }

  OpenedShard opened;
  test::Model model;

 private:
  Version version_ = 0;
};

TEST_CASE("ordered layers count at once, and serve when they are full", "[shard]") {
  LayeredShard layered;
  Shard& shard = layered.opened.shard();
  const IndexLayers& layers = shard.files()[0].index_layers();
  const std::uint32_t finest = layers.searches.finest();
  const std::uint64_t next = shard.next_layer_bytes()[2];
  {
    const auto held = layered.HoldFilling();
    CHECK(shard.AddLayers(3));
    shard.Poll();
    CHECK(shard.filling());
    CHECK(shard.layers() == 3);
    CHECK(shard.layer_bytes() > 0);
    CHECK(shard.layer_bytes() <= next);
    CHECK(shard.finest_layer_bytes() == shard.layer_bytes());
    CHECK(layers.searches.finest() == finest);
    CheckReads(shard, layered.model);
  }
  layered.WaitUntilFull();
  CHECK(shard.layers() == 3);
  CHECK(layers.searches.finest() == finest / 4);
  CHECK(layered.full());
  CheckReads(shard, layered.model);
}

TEST_CASE("a removal takes ordered layers first, and their memory", "[shard]") {
  LayeredShard layered(GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText));
  Shard& shard = layered.opened.shard();
  REQUIRE(layered.opened.AddLayer());
  const std::uint64_t bytes = shard.layer_bytes();
  const auto held = layered.HoldFilling();
  REQUIRE(shard.AddLayers(2));
  const bool begun = GENERATE(false, true);
  if (begun) shard.Poll();
  REQUIRE(shard.layers() > 1);
  CHECK(shard.RemoveLayer());
  CHECK_FALSE(shard.filling());
  CHECK(shard.layers() == 1);
  CHECK(shard.layer_bytes() == bytes);
  CHECK(shard.RemoveLayer());
  CHECK(shard.layer_bytes() == 0);
  CHECK_FALSE(shard.RemoveLayer());
}

TEST_CASE("a removal takes a layer that is full and not in its file yet", "[shard]") {
  LayeredShard layered(GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText));
  Shard& shard = layered.opened.shard();
  const MergeSlots& slots = *layered.opened.options.fill_slots;
  const auto are_full = [&] { return slots.usage().waiting + slots.usage().running == 0; };
  {
    const auto held = layered.HoldFilling();
    REQUIRE(shard.AddLayers(2));
    shard.Poll();
    REQUIRE(stout::test::Eventually([&] { return slots.usage().waiting == 1; }));
  }
  do {
    layered.opened.Wait();
  } while (!are_full());
  REQUIRE(shard.filling());
  CHECK(shard.RemoveLayer());
  CHECK(shard.layers() == 1);
  CheckReads(shard, layered.model);
}

TEST_CASE("layers that are ordered when a merge ends are those of its files", "[shard]") {
  LayeredShard layered(GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText));
  Shard& shard = layered.opened.shard();
  {
    const auto held = layered.HoldFilling();
    REQUIRE(shard.AddLayers(2));
    for (int i = 0; i < 10; ++i) layered.Put(i);
    layered.Compact();
    CHECK(shard.layers() == 2);
  }
  layered.WaitUntilFull();
  CHECK(shard.layers() == 2);
  CHECK(layered.full());
  CheckReads(shard, layered.model);
}

TEST_CASE("layers that a merge has no memory for are filled after it", "[shard]") {
  LayeredShard layered(GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText), 1 << 18, 0);
  Shard& shard = layered.opened.shard();
  REQUIRE(shard.AddLayers(2));
  layered.WaitUntilFull();
  {
    const auto held = layered.HoldFilling();
    for (int i = 0; i < 10; ++i) layered.Put(i);
    layered.Compact();
    CHECK(shard.filling());
    CHECK(shard.finest_layer_bytes() == shard.layer_bytes());  // all of them
    CHECK(shard.layers() == 2);
    CheckReads(shard, layered.model);
  }
  layered.WaitUntilFull();
  CHECK(shard.layers() == 2);
  CHECK(layered.full());
  CheckReads(shard, layered.model);
}

TEST_CASE("the first file of a shard gets the layers that were ordered before", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c"}, '|').value()};
  opened.options.compaction = {};
  opened.Open();
  Shard& shard = opened.shard();
  CHECK_FALSE(shard.RemoveLayer());
  REQUIRE(shard.AddLayers(3));
  CHECK(shard.RemoveLayer());
  CHECK(shard.layers() == 2);
  CHECK(shard.layer_bytes() == 0);
  CHECK_FALSE(shard.filling());
  REQUIRE(opened.Put("key", 1, ValueOf(1)) == WriteResult());
  shard.Compact();
  opened.Rest();
  REQUIRE(shard.files().size() == 1);
  CHECK(shard.layers() == 2);
  CHECK(shard.layer_bytes() > 0);
}

TEST_CASE("layers that were stopped go on being filled from where they were", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c", "d"}, '|').value()};
  opened.options.compaction = {};
  opened.options.encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks);
  opened.Open();
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < 40'000; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "a|b|c|d", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  NewLayers layers(opened.shard().files().ShareToSearch().front().store, 1);
  REQUIRE(layers.count() == 1);
  // Each time it is stopped about when it begins: it fills a part, mostly, of ten.
  bool full = false;
  for (int tries = 0; !full && tries < 1000; ++tries) {
    std::stop_source stop;
    const std::jthread stopper([&] { stop.request_stop(); });
    full = layers.Fill(stop.get_token());
  }
  CHECK(full);
}

TEST_CASE("a shard closes while its layers are being filled", "[shard]") {
  LayeredShard layered;
  std::optional<MergeSlots::Slot> held;
  if (GENERATE(false, true)) held.emplace(layered.HoldFilling());
  REQUIRE(layered.opened.shard().AddLayers(4));
  layered.opened.shard().Poll();
  layered.opened.Open();
  CHECK(layered.opened.shard().layers() == 0);
  CheckReads(layered.opened.shard(), layered.model);
}

TEST_CASE("opportunistic layers serve at once, and reads fill them", "[shard]") {
  LayeredShard layered;
  layered.opened.options.layer_filling = LayerFilling::kOpportunistic;
  layered.opened.Open();
  Shard& shard = layered.opened.shard();
  CHECK(shard.AddLayers(3));
  CHECK(shard.layers() == 3);
  CHECK_FALSE(shard.filling());
  CHECK_FALSE(layered.full());
  CheckReads(shard, layered.model);  // It reads all keys.
  CHECK(layered.full());
  CheckReads(shard, layered.model);
}

TEST_CASE("layers are filled beside reads, writes, merges and removals", "[shard][long]") {
  const auto encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  const auto seed = GENERATE(range<std::uint64_t>(1, 1 + stout::test::Rounds("STOUT_SEEDS", 2)));
  CAPTURE(encoding, seed);
  SplitMix64 random(seed);
  LayeredShard layered(encoding, seed % 2 == 0 ? 1 << 18 : 1 << 15);
  Shard& shard = layered.opened.shard();
  for (int step = 0; step < 60; ++step) {
    switch (random.Below(6)) {
      case 0:
        shard.AddLayers(1 + random.Below(3));
        break;
      case 1:
        if (random.Below(2) == 0) shard.RemoveLayer();
        break;
      case 2:
        for (int i = 0; i < 5; ++i) layered.Put(static_cast<int>(random.Below(kRecords)));
        break;
      case 3:
        shard.Compact();  // It goes on while other things happen.
        break;
      case 4:
        (void)test::Search(shard, {.kind = LogQuery::Kind::kPrefix, .text = "x1"});
        break;
      default:
        CheckReads(shard, layered.model);
    }
    shard.Poll();
  }
  layered.opened.Rest();
  layered.WaitUntilFull();
  CHECK(layered.full());
  CheckReads(shard, layered.model);
}

}  // namespace
}  // namespace stout::blowfish
