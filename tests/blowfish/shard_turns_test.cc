// The shards of a server merge in turns.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "blowfish/log/log_format.h"
#include "blowfish/store/merge_slots.h"
#include "blowfish/store/shard_directory.h"
#include "tests/blowfish/shard_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CheckReads;
using test::Model;
using test::OpenedShard;

// It freezes and merges little, and needs the one slot of the server for each merge.
void OpenInTurns(OpenedShard& opened) {
  opened.options.merge_slots = std::make_shared<MergeSlots>(1);
  opened.options.compaction.freeze_bytes = 1 << 10;
  opened.options.compaction.merge_bytes = 2 << 10;
  opened.Open();
}

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
  OpenInTurns(opened);
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

// No log file can begin while this exists.
class LogNamesInUse {
 public:
  explicit LogNamesInUse(const OpenedShard& opened) {
    for (std::uint64_t sequence = 1; sequence <= 100; ++sequence) {
      const auto path =
          std::filesystem::path(opened.directory()) / kLogName / LogFileName(sequence);
      // The log may begin a file meanwhile, which is in use, too.
      std::error_code in_use;
      if (std::filesystem::create_directory(path, in_use)) taken_.push_back(path);
    }
  }
  LogNamesInUse(const LogNamesInUse&) = delete;
  LogNamesInUse& operator=(const LogNamesInUse&) = delete;
  ~LogNamesInUse() {
    for (const auto& path : taken_) std::filesystem::remove(path);
  }

 private:
  std::vector<std::filesystem::path> taken_;
};

TEST_CASE("a shard that rests after a failure is in no other shard's way", "[shard]") {
  OpenedShard opened{Schema()};
  OpenInTurns(opened);
  MergeSlots& slots = *opened.options.merge_slots;
  std::optional<MergeSlots::Slot> other = slots.Take(1, {});
  Model model;
  const auto put = [&] {
    const std::string key = "key" + std::to_string(model.size());
    if (opened.Put(key, 1, "here") == WriteResult()) model[key] = {{1, 1}, "here"};
    opened.shard().Poll();
  };
  while (slots.usage().waiting == 0) put();
  std::optional<LogNamesInUse> in_use(opened);
  while (opened.shard().stats().failed_compactions == 0) put();
  other.reset();
  CHECK(slots.usage().waiting == 0);

  in_use.reset();
  opened.Pass(std::chrono::seconds(5));
  opened.Rest();
  CHECK(opened.shard().stats().merges == 1);
  CheckReads(opened.shard(), model);
}

}  // namespace
}  // namespace stout::blowfish
