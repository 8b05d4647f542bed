// The content and the answers of a shard while its compactions succeed and fail.

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blowfish/store/shard.h"
#include "shard_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using namespace std::chrono_literals;
using test::CheckReads;
using test::ManifestAway;
using test::OpenedShard;

// Path of the first merge's file.
std::string FirstRecords(const OpenedShard& opened) {
  return opened.directory() + "/00000000000000000002.records";
}

std::vector<std::string> FilesOfRecords(const OpenedShard& opened) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(opened.directory())) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".records")) names.push_back(name);
  }
  return names;
}

void PollUntilFailed(OpenedShard& opened) {
  const std::uint64_t before = opened.shard().stats().failed_compactions;
  opened.PollUntil([&] { return opened.shard().stats().failed_compactions > before; });
}

void CompactAll(OpenedShard& opened) {
  opened.shard().Compact();
  opened.Rest();
}

TEST_CASE("a tombstone outlives a merge, and its life ends", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "here") == WriteResult());
  REQUIRE(opened.Delete("key1", 3) == WriteResult());
  CompactAll(opened);
  REQUIRE(opened.Put("key1", 2, "late") == WriteResult());
  CheckReads(opened.shard(), {{"key1", {{1, 3}, std::nullopt}}});

  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 3}, std::nullopt}}});
  opened.Pass(2h);
  CompactAll(opened);
  CheckReads(opened.shard(), {});
}

TEST_CASE("a merge forgets no tombstone that is younger than its freeze", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.tombstone_life = 0ms;
  opened.Open();
  REQUIRE(opened.Delete("key1", 3) == WriteResult());
  opened.shard().Compact();
  opened.shard().Poll();  // The freeze is asked for.
  opened.Pass(1s);
  opened.Rest();
  CheckReads(opened.shard(), {{"key1", {{1, 3}, std::nullopt}}});
}

TEST_CASE("the length of the log alone brings a merge", "[shard]") {
  OpenedShard opened{Schema()};
  for (Version version = 1; version <= 100; ++version) {
    REQUIRE(opened.Put("key1", version, std::string(100, 'v')) == WriteResult());
  }
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  CHECK(opened.shard().files().records() == 1);
}

TEST_CASE("a merge that failed is tried again when the shard has said, or is asked", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "value") == WriteResult());
  std::filesystem::create_directory(FirstRecords(opened));
  CHECK(opened.shard().next_poll() == std::nullopt);
  opened.shard().Compact();
  CHECK(opened.shard().next_poll() == TimePoint::min());
  PollUntilFailed(opened);
  CHECK(opened.shard().stats().merges == 0);
  CHECK(opened.shard().stats().last_failure.starts_with("merge: "));
  CHECK_FALSE(opened.shard().Idle());
  CHECK(opened.shard().next_poll() == opened.now() + 5s);
  std::filesystem::remove(FirstRecords(opened));
  SECTION("when it has said") { opened.Pass(5s); }
  SECTION("when it is asked") { opened.shard().Compact(); }
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  CHECK(opened.shard().next_poll() == std::nullopt);
  CheckReads(opened.shard(), {{"key1", {{1, 1}, "value"}}});
}

TEST_CASE("a merge whose manifest could not be written is not built again", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "value") == WriteResult());
  std::optional<ManifestAway> away(opened);
  opened.shard().Compact();
  PollUntilFailed(opened);
  CHECK(opened.shard().stats().last_failure.starts_with("publish: "));
  CHECK(opened.shard().files().size() == 0);
  // Writes during the merge are newer than the merged records.
  REQUIRE(opened.Put("key1", 2, "newer") == WriteResult());
  struct stat before = {};
  REQUIRE(::stat(FirstRecords(opened).c_str(), &before) == 0);

  away.reset();
  opened.Pass(5s);
  opened.Rest();
  struct stat after = {};
  REQUIRE(::stat(FirstRecords(opened).c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  CHECK(opened.shard().stats().merges == 1);
  CHECK(opened.shard().stats().failed_compactions == 1);
  CheckReads(opened.shard(), {{"key1", {{1, 2}, "newer"}}});
  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 2}, "newer"}}});
}

TEST_CASE("a write while a merge is taken over is newer than the merge", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};  // only requested compactions run
  opened.Open();
  test::Model model;
  const auto put = [&](int first, int last, Version version) {
    WriteBatch batch{.epoch = 1};
    for (int i = first; i < last; ++i) {
      const std::string key = "key" + std::to_string(i);
      batch.items.push_back({.key = key, .value = std::to_string(version), .version = version});
      model[key] = {{1, version}, std::to_string(version)};
    }
    REQUIRE(opened.Write(batch) == WriteResult());
  };
  put(0, 1500, 1);
  std::optional<ManifestAway> away(opened);
  opened.shard().Compact();
  PollUntilFailed(opened);
  put(0, 1200, 2);  // More than is hidden at once.
  away.reset();
  opened.Pass(5s);
  opened.shard().Poll();
  opened.Wait();          // The manifest is written:
  opened.shard().Poll();  // the first part is hidden.
  opened.Wait();
  REQUIRE(opened.shard().stats().merges == 0);
  WriteBatch batch{.epoch = 1};
  batch.items.push_back({.key = "key1300", .value = "2", .version = 2});
  opened.shard().Write(batch, [](const WriteResult&) {});
  opened.Wait();          // It is durable:
  opened.shard().Poll();  // it comes before the rest is hidden.
  REQUIRE(opened.shard().stats().merges == 1);
  model["key1300"] = {{1, 2}, "2"};
  opened.Rest();
  CheckReads(opened.shard(), model);
  const auto expected = std::ranges::count_if(
      model, [](const auto& entry) { return entry.second.value->starts_with('1'); });
  const auto found = test::Search(opened.shard(), {.kind = LogQuery::Kind::kPrefix, .text = "1"});
  CHECK(found.size() == static_cast<std::size_t>(expected));
}

TEST_CASE("a merge leaves one file of records, and no log of what is in it", "[shard]") {
  OpenedShard opened{Schema()};
  for (Version version = 1; version <= 3; ++version) {
    REQUIRE(opened.Put("key1", version, "value") == WriteResult());
    std::ofstream(opened.directory() + "/7.records") << "of a merge that did not come to its end";
    CompactAll(opened);
    const std::vector<std::string> records = FilesOfRecords(opened);
    REQUIRE(records.size() == 1);
    CHECK(records.front() != "7.records");
    const auto logs = std::filesystem::directory_iterator(opened.directory() + "/log");
    CHECK(std::distance(begin(logs), end(logs)) == 2);  // The file and its mark.
  }
}

TEST_CASE("a shard that is closed while it merges has no half of it", "[shard]") {
  OpenedShard opened{Schema()};
  test::Model model;
  for (Version version = 1; version <= 100; ++version) {
    const std::string key = "key" + std::to_string(version);
    REQUIRE(opened.Put(key, version, "value") == WriteResult());
    model[key] = {{1, version}, "value"};
  }
  const int polls = GENERATE(range(1, 8));
  opened.shard().Compact();
  opened.shard().Poll();
  for (int i = 0; i < polls && !opened.shard().Idle(); ++i) opened.WaitAndPoll();
  opened.Open();
  CheckReads(opened.shard(), model);
  CHECK(FilesOfRecords(opened).size() <= 1);
}

TEST_CASE("a merge keeps the layers, full", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c"}, '|').value()};
  REQUIRE(opened.Put("key1", 1, "x|y|z") == WriteResult());
  CompactAll(opened);
  REQUIRE(opened.shard().AddLayers(3));
  REQUIRE(opened.Put("key2", 2, "x|y|zz") == WriteResult());
  CompactAll(opened);
  REQUIRE(opened.shard().files().records() == 2);
  CHECK(opened.shard().layers() == 3);
  RecordIndex& index = opened.shard().files()[0].index();
  for (const LayeredSampledArray* array : {&index.records_at(), &index.places_of()}) {
    const auto layers = array->Layers();
    CHECK(layers.size() > 1);
    for (const LayerInfo& layer : layers) CHECK(layer.state != LayerState::kFilling);
  }
}

// A shard whose files hold a value each.
void UseSmallFiles(OpenedShard& opened) {
  opened.options.max_file_bytes = 100;
  opened.Open();
}

const std::string kValue(60, 'v');

TEST_CASE("a shard has layers of an index and of blocks side by side", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c"}, '|').value()};
  opened.options.max_file_bytes = 1 << 18;
  opened.options.compaction = {};
  test::Model model;
  Version version = 0;
  for (const Encoding encoding : {Encoding::kIndex, Encoding::kBlocks}) {
    opened.options.encoding = encoding;
    opened.Open();
    for (int i = 0; i < 220; ++i) {
      const std::string number = std::to_string(++version);
      const std::string value = number + "|" + std::string(1000, 'x') + "|z";
      REQUIRE(opened.Put("key" + number, version, value) == WriteResult());
      model["key" + number] = {{1, version}, value};
    }
    CompactAll(opened);
  }
  Shard& shard = opened.shard();
  REQUIRE(shard.files().size() == 2);
  REQUIRE(shard.files()[0].encoding() == Encoding::kIndex);
  REQUIRE(shard.files()[1].encoding() == Encoding::kBlocks);
  while (opened.AddLayer()) {
    CheckReads(shard, model);
  }
  CHECK(shard.files()[1].block_layers()->layers() == 3);
  CHECK(shard.layers() == 4);
  CHECK(shard.next_layer_bytes() == NextLayerBytes());
  while (shard.layers() > 0) {
    const std::uint64_t before = shard.layer_bytes();
    const std::uint64_t finest = shard.finest_layer_bytes();
    REQUIRE(shard.RemoveLayer());
    CHECK(before - shard.layer_bytes() >= finest);
    CHECK(finest > 0);
    CheckReads(shard, model);
  }
  CHECK(shard.layer_bytes() == 0);
  CHECK(shard.files()[1].block_layers()->layers() == 0);
}

TEST_CASE("a shard has as many files as it needs", "[shard]") {
  OpenedShard opened{Schema()};
  UseSmallFiles(opened);
  test::Model model;
  for (Version version = 1; version <= 6; ++version) {
    const std::string key = "key" + std::to_string(version);
    REQUIRE(opened.Put(key, version, kValue) == WriteResult());
    model[key] = {{1, version}, kValue};
    if (version % 2 == 0) CompactAll(opened);
    CheckReads(opened.shard(), model);
  }
  CHECK(opened.shard().files().size() == 6);
  CHECK(FilesOfRecords(opened).size() == 6);
  opened.Open();
  CHECK(opened.shard().files().size() == 6);
  CHECK(opened.report().records == 6);
  CheckReads(opened.shard(), model);
}

TEST_CASE("a merge leaves full files as they are", "[shard]") {
  OpenedShard opened{Schema()};
  UseSmallFiles(opened);
  REQUIRE(opened.Put("key1", 1, kValue) == WriteResult());
  CompactAll(opened);
  struct stat before = {};
  REQUIRE(::stat(FirstRecords(opened).c_str(), &before) == 0);
  REQUIRE(opened.Put("key2", 2, kValue) == WriteResult());
  CompactAll(opened);
  struct stat after = {};
  REQUIRE(::stat(FirstRecords(opened).c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
}

TEST_CASE("files of which half was replaced are written anew", "[shard]") {
  OpenedShard opened{Schema()};
  UseSmallFiles(opened);
  for (Version version = 1; version <= 4; ++version)
    REQUIRE(opened.Put("key" + std::to_string(version), version, kValue) == WriteResult());
  CompactAll(opened);
  REQUIRE(opened.shard().files().size() == 4);
  REQUIRE(opened.Delete("key1", 5) == WriteResult());
  REQUIRE(opened.Delete("key2", 5) == WriteResult());
  CompactAll(opened);
  CHECK(opened.shard().files().records() == 2);
  CHECK(opened.shard().files().hidden() == 0);
  CheckReads(opened.shard(), {{"key1", {{1, 5}, std::nullopt}},
                              {"key2", {{1, 5}, std::nullopt}},
                              {"key3", {{1, 3}, kValue}},
                              {"key4", {{1, 4}, kValue}}});
}

TEST_CASE("deleted values are freed though nothing is written any more", "[shard]") {
  OpenedShard opened{Schema()};
  // Files may be larger than the limit of a later start.
  opened.options.max_file_bytes = GENERATE(100, 10'000, 1 << 20);
  opened.Open();
  test::Model model;
  const std::string value(1000, 'v');
  for (Version version = 1; version <= 30; ++version) {
    const std::string key = "key" + std::to_string(version);
    REQUIRE(opened.Put(key, version, value) == WriteResult());
    model[key] = {{1, version}, value};
  }
  CompactAll(opened);
  opened.options.max_file_bytes = 100;
  opened.Open();
  REQUIRE(opened.shard().files().records() == 30);
  for (int i = 1; i <= 28; ++i) {
    const std::string key = "key" + std::to_string(i);
    REQUIRE(opened.Delete(key, 31) == WriteResult());
    model[key] = {{1, 31}, std::nullopt};
  }
  if (GENERATE(false, true)) opened.Open();
  opened.Rest();
  // The room of what is live, and of --merge-bytes.
  CHECK(opened.shard().files().hidden() <= 2 + 4);
  CheckReads(opened.shard(), model);
}

TEST_CASE("a deleted key stays deleted as long as an older file has it", "[shard]") {
  OpenedShard opened{Schema()};
  UseSmallFiles(opened);
  const std::string value(25, 'v');  // Three in a file.
  test::Model model;
  for (Version version = 1; version <= 6; ++version) {
    const std::string key = "key" + std::to_string(version);
    REQUIRE(opened.Put(key, version, value) == WriteResult());
    model[key] = {{1, version}, value};
  }
  CompactAll(opened);
  REQUIRE(opened.shard().files().size() == 2);
  REQUIRE(opened.Delete("key1", 7) == WriteResult());
  model["key1"] = {{1, 7}, std::nullopt};
  opened.Pass(2h);  // The life of its tombstone is over.
  CompactAll(opened);
  REQUIRE(opened.shard().files().size() == 3);
  REQUIRE(opened.shard().files().records() == 6);
  CheckReads(opened.shard(), model);
  // The file of the tombstone has no record.
  for (const auto kind :
       {LogQuery::Kind::kEqual, LogQuery::Kind::kPrefix, LogQuery::Kind::kContains}) {
    const LogQuery query{.kind = kind, .text = value};
    CHECK(test::Search(opened.shard(), query).size() == 5);
    std::uint64_t count = 0;
    ShardSearch search = opened.shard().BeginSearch(query);
    while (search.StepToCount(count)) continue;
    CHECK(count == 5);
  }
  opened.Open();
  CheckReads(opened.shard(), model);
}

TEST_CASE("a shard of which everything was deleted has no file", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "value") == WriteResult());
  CompactAll(opened);
  REQUIRE(opened.Delete("key1", 2) == WriteResult());
  CompactAll(opened);
  opened.Pass(2h);
  CompactAll(opened);
  CHECK(FilesOfRecords(opened).empty());
  opened.Open();
  CheckReads(opened.shard(), {});
  REQUIRE(opened.Put("key1", 3, "value") == WriteResult());
  CheckReads(opened.shard(), {{"key1", {{1, 3}, "value"}}});
}

// The shard has as much as may be unmerged. It cannot merge as long as the result exists.
std::unique_ptr<ManifestAway> FailToMerge(OpenedShard& opened) {
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.Open();
  auto away = std::make_unique<ManifestAway>(opened);
  REQUIRE(opened.Put("large", 1, std::string(300'000, 'v')) == WriteResult());
  PollUntilFailed(opened);
  return away;
}

TEST_CASE("deletes of a shard that cannot merge are bounded, too", "[shard]") {
  OpenedShard opened{Schema()};
  const std::unique_ptr<ManifestAway> away = FailToMerge(opened);
  CHECK(opened.Put("small", 1, "v") == WriteResult{Errc::kTransient, {}});
  std::size_t deleted = 0;
  WriteResult result;
  while (result == WriteResult()) {
    REQUIRE(deleted < 100'000);
    WriteBatch batch{.epoch = 1};
    for (int i = 0; i < 100; ++i) {
      batch.items.push_back(
          {.key = "key" + std::to_string(deleted++), .kind = WriteKind::kDelete, .version = 1});
    }
    result = opened.Write(batch);
  }
  CHECK(result == WriteResult{Errc::kTransient, {}});
  CHECK(deleted > 1000);
}

TEST_CASE("a writer that has lost its keys does not wait for room", "[shard]") {
  OpenedShard opened{Schema()};
  const std::unique_ptr<ManifestAway> away = FailToMerge(opened);
  bool fenced = false;
  opened.shard().Fence("lost", 2, [&](ErrorCode) { fenced = true; });
  opened.PollUntil([&] { return fenced; });
  WriteBatch late{.epoch = 1, .scope = "lost"};
  late.items.push_back({.key = "key4", .value = "v", .version = 1});
  CHECK(opened.Write(late) == WriteResult{Errc::kFenced, {}});
}

TEST_CASE("changes that cannot be merged are bounded, and merged when they can", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.options.compaction.merge_bytes = 1 << 30;  // Nor does the log's length bring a merge.
  opened.Open();
  test::Model model;
  Version version = 0;
  WriteResult result;
  const auto put = [&] {
    const std::string key = "key" + std::to_string(version % 100);
    std::string value(1000, static_cast<char>('a' + version % 26));
    result = opened.Put(key, ++version, value);
    if (result == WriteResult()) model[key] = {{1, version}, std::move(value)};
  };
  std::optional<ManifestAway> away(opened);
  // A freeze may refuse writes, too, for the moment that a table and its copy are there.
  const auto failed = [&] { return opened.shard().stats().failed_compactions > 0; };
  while (!failed() || result == WriteResult()) {
    put();
    REQUIRE(version < 5000);
    if (result == WriteResult()) continue;
    REQUIRE(result == WriteResult{Errc::kTransient, {}});
    if (!failed() && !opened.shard().Idle()) opened.WaitAndPoll();
  }
  CheckReads(opened.shard(), model);

  away.reset();
  opened.Pass(5s);
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  put();
  CHECK(result == WriteResult());
  CheckReads(opened.shard(), model);
}

TEST_CASE("a table that is being sorted counts twice, because the sort copies it", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.options.compaction.merge_bytes = 1 << 30;
  opened.Open();
  REQUIRE(opened.Put("large", 1, std::string(140'000, 'v')) == WriteResult());
  opened.PollUntil([&] { return opened.shard().stats().freezes == 1; });
  CHECK(opened.Put("small", 1, "v") == WriteResult{Errc::kTransient, {}});
  CHECK(opened.shard().WillHaveRoom(1, false));
  opened.Rest();
  CHECK(opened.Put("small", 1, "v") == WriteResult());
}

TEST_CASE("changes that wait for the disk count towards the memory of changes", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.options.compaction.merge_bytes = 1 << 30;
  opened.Open();
  std::vector<Errc> results;
  const auto begin_put = [&](const std::string& key) {
    WriteBatch batch{.epoch = 1};
    batch.items.push_back({.key = key, .value = std::string(200'000, 'v'), .version = 1});
    opened.shard().Write(batch,
                         [&](const WriteResult& result) { results.push_back(result.batch); });
  };
  begin_put("key1");
  begin_put("key2");
  REQUIRE(results.empty());
  begin_put("key3");
  CHECK(results == std::vector{Errc::kTransient});
  CHECK(opened.shard().WillHaveRoom(1, false));
  opened.PollUntil([&] { return results.size() == 3; });
  CHECK(results == std::vector{Errc::kTransient, Errc::kOk, Errc::kOk});
  opened.Rest();
  CHECK(opened.Put("key3", 1, "v") == WriteResult());
}

TEST_CASE("a shard without its manifest is left as it is", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "value") == WriteResult());
  CompactAll(opened);
  const std::string manifest = opened.directory() + "/" + kManifestName;
  opened.Close();
  std::filesystem::rename(manifest, manifest + ".lost");
  CHECK(opened.TryOpen() == Errc::kCorrupt);
  CHECK(opened.why.message.find("restore it") != std::string::npos);
  std::filesystem::rename(manifest + ".lost", manifest);
  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 1}, "value"}}});
}

TEST_CASE("the directory of another shard is refused", "[shard]") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key1", 1, "value") == WriteResult());
  opened.options.shard = 8;
  CHECK(opened.TryOpen() == Errc::kBadOptions);
  CHECK(opened.why.message.find("shard 7, not of shard 8") != std::string::npos);
  opened.options.shard = 7;
  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 1}, "value"}}});
}

TEST_CASE("a shard keeps its schema, and says that it was given another", "[shard]") {
  const Schema made = Schema::Make({"a", "b"}, '|').value();
  OpenedShard opened{made};
  CHECK_FALSE(opened.report().other_schema);
  opened.options.schema = Schema();
  opened.Open();
  CHECK(opened.report().other_schema);
  CHECK(opened.shard().schema() == made);
}

TEST_CASE("bounds of a shard that make no sense are refused", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.max_file_bytes = kMaxValueBytes + 1;
  CHECK(opened.TryOpen() == Errc::kBadOptions);
  CHECK(opened.why.message.find("max_file_bytes") != std::string::npos);
  opened.options.max_file_bytes = kMaxValueBytes;
  opened.options.compaction.max_unmerged_bytes = opened.options.compaction.freeze_bytes;
  CHECK(opened.TryOpen() == Errc::kBadOptions);
  CHECK(opened.why.message.find("max_unmerged_bytes") != std::string::npos);
  opened.options.compaction.max_unmerged_bytes = LogTable::kMaxBytes + 1;
  CHECK(opened.TryOpen() == Errc::kBadOptions);
  CHECK(opened.why.message == "max_unmerged_bytes must be at most 34359738368");
}

}  // namespace
}  // namespace stout::blowfish
