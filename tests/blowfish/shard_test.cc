// A shard against a map, through freezes, merges and starts.

#include "blowfish/store/shard.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "random_values.h"
#include "shard_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CheckReads;
using test::Model;
using test::OpenedShard;
using test::Search;
using test::State;

// Lists all keys in steps, as a client does.
void CheckOrder(SplitMix64& random, Shard& shard, const Model& model) {
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

// Lists all keys, and those of tombstones, in steps and with their stamps.
void CheckOrderOfAll(SplitMix64& random, Shard& shard, const Model& model) {
  Model listed;
  std::string last;
  while (true) {
    const std::size_t count = 1 + random.Below(30);
    std::optional<std::string_view> after;
    if (!listed.empty()) after = last;
    const std::vector<std::string> keys = shard.KeysAfter(after, count, Shard::Keys::kAll);
    CHECK(std::ranges::is_sorted(keys));
    CHECK((keys.empty() || listed.empty() || keys.front() > last));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    shard.ReadStamps(views, [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
      listed[keys[i]].stamp = stamp;
      listed[keys[i]].value = value;
    });
    if (keys.size() < count) break;
    last = keys.back();
  }
  CHECK(listed.size() == model.size());
  for (const auto& [key, state] : model) {
    CAPTURE(key);
    CHECK(listed[key].stamp == state.stamp);
    CHECK(listed[key].value.has_value() == state.value.has_value());
  }
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
    std::vector<std::string> found = Search(shard, query);
    std::ranges::sort(found);
    CAPTURE(a, text, static_cast<int>(query.kind));
    CHECK(found == expected);
    if (expected.size() > 1) CHECK(Search(shard, query, 1).size() == 1);
  }
}

TEST_CASE("a shard has what was written, through freezes, merges and starts", "[shard][not_tsan]") {
  const std::uint64_t seed = GENERATE(range(1, 30));
  CAPTURE(seed);
  SplitMix64 random(seed);
  RandomValues made = MakeRandomValues(seed, 60);
  if (made.values.empty()) made.values.emplace_back("x");
  OpenedShard opened(made.schema);
  // Many small files, or one; each merge takes the last ones, or all.
  if (seed % 3 != 0) opened.options.max_file_bytes = 1 + random.Below(2000);
  if (seed % 3 == 0) opened.options.encoding = Encoding::kBlocks;
  if (seed % 3 == 1) opened.options.encoding = Encoding::kText;
  opened.Open();
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
    CheckOrderOfAll(random, opened.shard(), model);
    CheckSearches(random, opened.shard(), model, made);
  }
  opened.shard().Compact();
  opened.Rest();
  CHECK(opened.shard().stats().merges > 0);
  CHECK(opened.shard().stats().failed_compactions == 0);
  CheckReads(opened.shard(), model);
}

TEST_CASE("stamps are compared with those of every store", "[shard]") {
  OpenedShard opened{Schema()};
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
    CHECK(opened.shard().files().records() == 1);
  }
}

TEST_CASE("layers take memory once a shard has records that are compressed", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c"}, '|').value()};
  Shard& shard = opened.shard();
  CHECK(shard.next_layer_bytes() == NextLayerBytes());
  WriteBatch batch{.epoch = 1};
  batch.items.push_back({.key = "key1", .value = "x|y|z", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  shard.Compact();
  opened.Rest();
  CHECK(shard.next_layer_bytes().front() > 0);
  CHECK(opened.AddLayer());
  CHECK(shard.layers() == 1);
  CHECK(shard.layer_bytes() >= shard.finest_layer_bytes());
  CHECK(shard.finest_layer_bytes() > 0);
  CHECK(shard.RemoveLayer());
  CHECK(shard.layers() == 0);
}

TEST_CASE("files of long keys are no larger than a merge has memory for", "[shard]") {
  OpenedShard opened{Schema()};
  opened.options.merge_memory = 0;  // The least that is possible: files of 4 MiB.
  opened.options.compaction = {};
  opened.Open();
  constexpr int kKeys = 200;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(1000 + i) + std::string(1 << 16, 'k');
    REQUIRE(opened.Put(key, 1, "x") == WriteResult());
  }
  opened.shard().Compact();
  opened.Rest();
  CHECK(opened.shard().files().records() == kKeys);
  CHECK(opened.shard().files().size() == 4);
}

TEST_CASE("a start reads the log since the last merge only", "[shard]") {
  OpenedShard opened{Schema()};
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

TEST_CASE("one key is read as several are, however many layers there are", "[shard]") {
  OpenedShard opened{Schema::Make({"a", "b", "c", "d", "e"}, '|').value()};
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    REQUIRE(opened.Put("key" + n, i + 1, n + "|x" + n + "||some words " + n + "|" + n) ==
            WriteResult());
  }
  opened.shard().Compact();
  opened.Rest();
  REQUIRE(opened.shard().files().size() == 1);
  do {
    for (int i = 0; i < 50; ++i) {
      const std::string n = std::to_string(i);
      const std::string name = "key" + n;
      const std::string_view key = name;
      int visits = 0;
      opened.shard().Read({&key, 1}, [&](std::size_t at, Stamp stamp, auto value) {
        CHECK(at == 0);
        CHECK(stamp == Stamp{1, static_cast<Version>(i + 1)});
        CHECK(value == n + "|x" + n + "||some words " + n + "|" + n);
        ++visits;
      });
      CHECK(visits == 1);
    }
  } while (opened.AddLayer());
}

TEST_CASE("an attribute is read as the whole value has it, wherever that is", "[shard]") {
  const std::uint64_t seed = GENERATE(range(1, 20));
  CAPTURE(seed);
  RandomValues made = MakeRandomValues(seed, 60);
  made.values.emplace_back();
  SplitMix64 random(seed);
  OpenedShard opened{made.schema};
  const auto write = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string& value = made.values[random.Below(made.values.size())];
      REQUIRE(opened.Put("key" + std::to_string(i), i + 1, value) == WriteResult());
    }
  };
  const auto check = [&] {
    for (int i = 0; i < 60; ++i) {
      const std::string name = "key" + std::to_string(i);
      const std::string_view key = name;
      std::optional<std::string> value;
      opened.shard().Read({&key, 1}, [&](std::size_t, Stamp, auto read) {
        if (read) value.emplace(*read);
      });
      for (std::size_t a = 0; a < made.schema.size(); ++a) {
        CAPTURE(name, value, a);
        const auto expected = value ? made.schema.Attribute(*value, a) : std::nullopt;
        CHECK(opened.shard().ReadAttribute(key, a) == expected);
      }
    }
  };
  write(0, 40);
  check();
  opened.shard().Compact();
  opened.Rest();
  REQUIRE(opened.shard().files().size() >= 1);
  // Some in the log again, some deleted, some new, some never there.
  write(30, 50);
  REQUIRE(opened.Delete("key1", 1000) == WriteResult());
  REQUIRE(opened.Delete("key35", 1000) == WriteResult());
  do {
    check();
  } while (opened.AddLayer());
}

}  // namespace
}  // namespace stout::blowfish
