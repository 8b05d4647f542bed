// Goal: without memory for layers, a shard has fewer of them, and goes on. Method: of each
// allocation while they are ordered, begun, filled and taken over, one after the other fails.

#include <atomic>
#include <cstddef>
#include <new>
#include <string>
#include <thread>

#include "shard_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CheckReads;
using test::OpenedShard;

// A shard with a compressed file.
class CompressedShard {
 public:
  explicit CompressedShard(Encoding encoding)
      : opened{Schema::Make({"a", "b", "c"}, '|').value(), encoding == Encoding::kText} {
    opened.options.encoding = encoding;
    opened.options.compaction = {};
    opened.Open();
    for (Version version = 1; version <= 300; ++version) {
      const std::string number = std::to_string(version);
      std::string value = "x" + number + "|" + std::to_string(version % 7) + "|";
      for (int i = 0; i < 40; ++i) value += number + " words ";
      REQUIRE(opened.Put("key" + number, version, value) == WriteResult());
      model["key" + number] = {{1, version}, value};
    }
    opened.shard().Compact();
    opened.Rest();
  }

  // Once layers are full, or off.
  void CheckAndRemoveLayers() {
    Shard& shard = opened.shard();
    opened.PollUntil([&] { return !shard.filling(); });
    CheckReads(shard, model);
    while (shard.RemoveLayer()) continue;
    CHECK(shard.layers() == 0);
    CHECK(shard.layer_bytes() == 0);
  }

  OpenedShard opened;
  test::Model model;
};

TEST_CASE("a shard without memory to order layers has fewer, and goes on") {
  CompressedShard compressed(GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText));
  Shard& shard = compressed.opened.shard();
  bool failed = true;
  std::size_t n = 1;
  for (; failed; ++n) {
    CAPTURE(n);
    failed = stout::test::RunWithFailure(n, [&] {
      shard.AddLayers(2);
      shard.Poll();
    });
    compressed.CheckAndRemoveLayers();
  }
  CHECK(n > 3);
}

std::atomic<std::size_t> left;
std::thread::id caller;

void FailOnOtherThreads(std::size_t) {
  if (std::this_thread::get_id() != caller && left > 0 && --left == 0) throw std::bad_alloc();
}

TEST_CASE("layers serve what they have if there is no memory to fill them") {
  // Layers of blocks are filled without operator new.
  CompressedShard compressed(GENERATE(Encoding::kIndex, Encoding::kText));
  Shard& shard = compressed.opened.shard();
  caller = std::this_thread::get_id();
  bool failed = true;
  std::size_t n = 1;
  for (; failed; ++n) {
    CAPTURE(n);
    left = n;
    stout::test::OnAllocation(FailOnOtherThreads);
    CHECK(shard.AddLayers(2));
    compressed.opened.PollUntil([&] { return !shard.filling(); });
    stout::test::OnAllocation(nullptr);
    failed = left == 0;
    CHECK(shard.layers() == 2);
    compressed.CheckAndRemoveLayers();
  }
  CHECK(n > 2);
}

}  // namespace
}  // namespace stout::blowfish
