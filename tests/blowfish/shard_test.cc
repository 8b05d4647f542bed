// A shard against a map, through freezes, merges and starts.

#include "shard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "random_values.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

// Says when Poll() has something to do.
class Wakeup {
 public:
  void Wake() {
    const std::lock_guard lock(mutex_);
    awake_ = true;
    woken_.notify_one();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [&] { return awake_; });
    awake_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
};

// A shard in a directory of its own, whose calls are waited for.
class Opened {
 public:
  explicit Opened(Schema schema) : schema_(std::move(schema)) { Open(); }

  void Open() { REQUIRE(TryOpen() == ErrorCode()); }
  void Close() { shard_.reset(); }
  ErrorCode TryOpen() {
    shard_.reset();
    // Small enough that there is something to compact all the time.
    ShardOptions options{
        .shard = 7, .schema = schema_, .freeze_bytes = 1 << 17, .merge_bytes = 1 << 12};
    options.now_ms = [this] { return now_ms_; };
    options.wake = [this] { wakeup_.Wake(); };
    Diagnostics why;
    auto opened = Shard::Open(directory_.path(), domain_, std::move(options), &report_, &why);
    UNSCOPED_INFO(why.message);
    if (!opened) return opened.error();
    shard_ = std::move(*opened);
    return {};
  }

  [[nodiscard]] const std::string& directory() const { return directory_.path(); }

  [[nodiscard]] Shard& shard() { return *shard_; }
  [[nodiscard]] const ShardReport& report() const { return report_; }
  void Pass(std::uint64_t ms) { now_ms_ += ms; }

  WriteResult Write(const WriteBatch& batch) {
    std::optional<WriteResult> result;
    shard_->Write(batch, [&](WriteResult r) { result = std::move(r); });
    while (!result) {
      wakeup_.Wait();
      shard_->Poll();
    }
    return *result;
  }
  void Rest() {
    PollUntil([this] { return shard_->Idle(); });
  }
  template <typename Condition>
  void PollUntil(Condition condition) {
    for (shard_->Poll(); !condition(); shard_->Poll()) wakeup_.Wait();
  }

 private:
  const test::TempDirectory directory_;
  ReclaimDomain domain_;
  const Schema schema_;
  std::uint64_t now_ms_ = 1'000'000;
  Wakeup wakeup_;
  ShardReport report_;
  std::unique_ptr<Shard> shard_;
};

struct State {
  Stamp stamp;
  std::optional<std::string> value;
};
using Model = std::map<std::string, State>;

void CheckReads(Shard& shard, const Model& model) {
  std::vector<std::string> names;
  for (int i = 0; i < 110; ++i) names.push_back("key" + std::to_string(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::map<std::string, State> read;
  shard.Read(keys, [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
    State& state = read[names[i]];
    state.stamp = stamp;
    if (value) state.value = *value;
  });
  std::uint64_t there = 0;
  for (const auto& [key, state] : model) {
    CAPTURE(key);
    there += state.value.has_value();
    REQUIRE(read.contains(key));
    CHECK(read[key].stamp == state.stamp);
    CHECK(read[key].value == state.value);
  }
  CHECK(read.size() == model.size());
  for (const std::string& name : names) {
    const auto state = model.find(name);
    CAPTURE(name);
    CHECK(shard.NewestStamp(name) ==
          (state == model.end() ? std::nullopt : std::optional(state->second.stamp)));
    CHECK_FALSE(shard.IsPending(name));
  }
  CHECK(shard.size() == there);
}

// In steps, as whoever lists them all goes.
void CheckOrder(SplitMix64& random, const Shard& shard, const Model& model) {
  std::vector<std::string> expected;
  for (const auto& [key, state] : model) {
    if (state.value) expected.push_back(key);
  }
  std::vector<std::string> listed;
  while (true) {
    const std::size_t count = 1 + random.Below(30);
    std::optional<std::string_view> after;
    if (!listed.empty()) after = listed.back();
    const std::vector<std::string> keys = shard.KeysAfter(after, count);
    listed.insert(listed.end(), keys.begin(), keys.end());
    CHECK(keys.size() <= count);
    if (keys.size() < count) break;
  }
  CHECK(listed == expected);
  // From a key that need not be there.
  const std::string from = "key" + std::to_string(random.Below(1000));
  const auto behind = std::ranges::upper_bound(expected, from);
  const std::size_t count = std::min<std::size_t>(expected.end() - behind, 5);
  CHECK(shard.KeysAfter(from, 5) == std::vector<std::string>(behind, behind + count));
  CHECK(shard.KeysAfter(from, 0).empty());
}

void CheckSearches(SplitMix64& random, Shard& shard, const Model& model, const RandomValues& made) {
  for (int n = 0; n < 6; ++n) {
    const std::size_t a = random.Below(made.schema.size());
    const std::string& from = made.values[random.Below(made.values.size())];
    std::string text(made.schema.Attribute(from, a).value_or(""));
    LogQuery query{.attribute = a};
    switch (random.Below(3)) {
      case 0:
        break;
      case 1:
        query.kind = LogQuery::Kind::kPrefix;
        text.resize(random.Below(text.size() + 1));
        break;
      default:
        query.kind = LogQuery::Kind::kContains;
        text = text.substr(random.Below(text.size() + 1), 3);
    }
    query.text = text;
    std::vector<std::string> expected;
    for (const auto& [key, state] : model) {
      if (!state.value) continue;
      const auto has = made.schema.Attribute(*state.value, a);
      const bool matches =
          query.kind == LogQuery::Kind::kContains
              ? state.value->find(text) != std::string::npos
              : has &&
                    (query.kind == LogQuery::Kind::kEqual ? *has == text : has->starts_with(text));
      if (matches) expected.push_back(key);
    }
    std::vector<std::string> found = shard.Search(query, model.size() + 1);
    std::ranges::sort(found);
    CAPTURE(a, text, static_cast<int>(query.kind));
    CHECK(found == expected);
    CHECK(shard.Count(query) == expected.size());
    if (expected.size() > 1) CHECK(shard.Search(query, 1).size() == 1);
  }
}

TEST_CASE("a shard has what was written, through freezes, merges and starts", "[shard]") {
  const std::uint64_t seed = GENERATE(range(1, 30));
  CAPTURE(seed);
  SplitMix64 random(seed);
  RandomValues made = MakeRandomValues(seed, 60);
  if (made.values.empty()) made.values.emplace_back("x");
  Opened opened(made.schema);
  Model model;
  Version version = 0;
  for (int step = 0; step < 40; ++step) {
    CAPTURE(step);
    WriteBatch batch{.epoch = 1};
    for (std::uint64_t i = random.Below(20); i > 0; --i) {
      const std::string key = "key" + std::to_string(random.Below(100));
      const bool twice =
          std::ranges::any_of(batch.items, [&](const WriteItem& item) { return item.key == key; });
      if (twice) continue;
      WriteItem& item = batch.items.emplace_back();
      item.key = key;
      item.version = ++version;
      if (random.Below(4) == 0) {
        item.kind = WriteKind::kDelete;
      } else {
        item.value = made.values[random.Below(made.values.size())];
      }
      batch.bytes += item.key.size() + item.value.size();
    }
    REQUIRE(opened.Write(batch) == WriteResult());
    for (const WriteItem& item : batch.items) {
      State& state = model[item.key];
      state.stamp = {1, item.version};
      state.value.reset();
      if (item.kind == WriteKind::kPut) state.value = item.value;
    }
    switch (random.Below(8)) {
      case 0:
        opened.Rest();
        break;
      case 1:
        opened.Open();
        break;
      case 2:
        opened.shard().Compact();
        opened.Rest();
        break;
      default:
        break;
    }
    CheckReads(opened.shard(), model);
    CheckOrder(random, opened.shard(), model);
    CheckSearches(random, opened.shard(), model, made);
  }
  opened.shard().Compact();
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  CHECK(opened.shard().stats().failed_compactions == 0);
  CheckReads(opened.shard(), model);
}

TEST_CASE("stamps are compared with those of every store", "[shard]") {
  Opened opened{Schema()};
  const auto write = [&](Epoch epoch, Version version, const std::string& value) {
    WriteBatch batch{.epoch = epoch};
    batch.items.push_back({.key = "key1", .value = value, .version = version});
    batch.bytes = 4 + value.size();
    return opened.Write(batch);
  };
  REQUIRE(write(2, 5, "new") == WriteResult());
  for (int where = 0; where < 2; ++where) {
    CAPTURE(where);
    CHECK(write(2, 5, "repeated") == WriteResult());
    CHECK(write(2, 4, "late") == WriteResult());
    const WriteResult fenced = write(1, 9, "of a former owner");
    CHECK((fenced.batch == Errc::kFenced ||
           fenced.items == std::vector<ItemError>{{0, Errc::kFenced}}));
    CheckReads(opened.shard(), {{"key1", {{2, 5}, "new"}}});
    opened.shard().Compact();
    opened.Rest();
    REQUIRE(opened.shard().succinct());
    CHECK(opened.shard().succinct()->records() == 1);
  }
}

TEST_CASE("a tombstone outlives a merge, and its life ends", "[shard]") {
  Opened opened{Schema()};
  WriteBatch put{.epoch = 1};
  put.items.push_back({.key = "key1", .value = "here", .version = 1});
  WriteBatch erase{.epoch = 1};
  erase.items.push_back({.key = "key1", .kind = WriteKind::kDelete, .version = 3});
  WriteBatch late{.epoch = 1};
  late.items.push_back({.key = "key1", .value = "late", .version = 2});
  REQUIRE(opened.Write(put) == WriteResult());
  REQUIRE(opened.Write(erase) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  REQUIRE(opened.Write(late) == WriteResult());
  CheckReads(opened.shard(), {{"key1", {{1, 3}, std::nullopt}}});

  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 3}, std::nullopt}}});
  opened.Pass(2 * 3600 * 1000);
  opened.shard().Compact();
  opened.Rest();
  CheckReads(opened.shard(), {});
}

TEST_CASE("the length of the log alone brings a merge", "[shard]") {
  Opened opened{Schema()};
  for (Version version = 1; version <= 100; ++version) {
    WriteBatch batch{.epoch = 1};
    batch.items.push_back({.key = "key1", .value = std::string(100, 'v'), .version = version});
    REQUIRE(opened.Write(batch) == WriteResult());
  }
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  REQUIRE(opened.shard().succinct());
  CHECK(opened.shard().succinct()->records() == 1);
}

TEST_CASE("a merge that failed is tried again", "[shard]") {
  Opened opened{Schema()};
  WriteBatch batch{.epoch = 1};
  batch.items.push_back({.key = "key1", .value = "value", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  // Where the merge's file should be.
  const std::string in_the_way = opened.directory() + "/00000000000000000002.records";
  std::filesystem::create_directory(in_the_way);
  opened.shard().Compact();
  opened.PollUntil([&] { return opened.shard().stats().failed_compactions > 0; });
  CHECK(opened.shard().stats().merges == 0);
  CHECK_FALSE(opened.shard().Idle());
  std::filesystem::remove(in_the_way);
  opened.Pass(6000);
  opened.Rest();
  CHECK(opened.shard().stats().merges == 1);
}

TEST_CASE("a shard without its manifest is left as it is", "[shard]") {
  Opened opened{Schema()};
  WriteBatch batch{.epoch = 1};
  batch.items.push_back({.key = "key1", .value = "value", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  const std::string manifest = opened.directory() + "/" + kManifestName;
  opened.Close();
  std::filesystem::rename(manifest, manifest + ".lost");
  CHECK(opened.TryOpen() == Errc::kCorrupt);
  std::filesystem::rename(manifest + ".lost", manifest);
  opened.Open();
  CheckReads(opened.shard(), {{"key1", {{1, 1}, "value"}}});
}

TEST_CASE("a shard has layers once it has records that are compressed", "[shard]") {
  Opened opened{Schema::Make({"a", "b", "c"}, '|').value()};
  Shard& shard = opened.shard();
  CHECK_FALSE(shard.AddLayer());
  CHECK(shard.next_layer_bytes() == 0);
  WriteBatch batch{.epoch = 1};
  batch.items.push_back({.key = "key1", .value = "x|y|z", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  shard.Compact();
  opened.Rest();
  CHECK(shard.next_layer_bytes() > 0);
  CHECK(shard.AddLayer());
  CHECK(shard.layers() == 1);
  CHECK(shard.layer_bytes() >= shard.finest_layer_bytes());
  CHECK(shard.finest_layer_bytes() > 0);
  CHECK(shard.RemoveLayer());
  CHECK(shard.layers() == 0);
}

TEST_CASE("a start reads the log since the last merge only", "[shard]") {
  Opened opened{Schema()};
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < 100; ++i) {
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "v", .version = 1});
  }
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.Open();
  CHECK(opened.report().log.operations >= 100);
  CHECK(opened.report().records == 0);
  opened.shard().Compact();
  opened.Rest();
  opened.Open();
  CHECK(opened.report().log.operations < 100);
  CHECK(opened.report().records == 100);
  CHECK(opened.shard().size() == 100);
}

}  // namespace
}  // namespace stout::blowfish
