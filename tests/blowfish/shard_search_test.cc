// Goal: a search in parts finds every key that matched all the time, each once, and no key that
// never matched, for any changes of the shard between its parts. Method: between the parts, keys
// are written at random, stores frozen and merged, and layers added, filled and deleted. The model
// records for each key whether all of its states since the search began match, and whether any did.

#include "blowfish/store/shard_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shard_fixture.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using test::OpenedShard;

constexpr std::uint64_t kKeys = 2000;

// Values "red|..." and "blue|...", of some length: so that there are several parts.
std::string RandomValue(SplitMix64& random) {
  return (random.Below(2) == 0 ? "red|" : "blue|") + std::string(random.Below(300), 'x');
}

class SearchedShard {
 public:
  explicit SearchedShard(std::uint64_t seed, std::uint64_t keys = kKeys)
      : random_(seed), keys_(keys), opened_(Schema::Make({"colour", "rest"}, '|').value()) {
    if (random_.Below(2) == 0) opened_.options.max_file_bytes = 10'000;  // Many files.
    opened_.options.encoding =
        std::array{Encoding::kIndex, Encoding::kBlocks, Encoding::kText}[random_.Below(3)];
    opened_.Open();
  }

  // From now on it is all in the log's table, unless it is asked to compact.
  void CompactNothing() {
    opened_.options.compaction = {};
    opened_.Open();
  }

  void WriteEach(const std::string& value) {
    WriteBatch batch{.epoch = 1};
    for (std::uint64_t i = 0; i < keys_; ++i) {
      const std::string key = "key" + std::to_string(i);
      batch.items.push_back({.key = key, .value = values_[key] = value, .version = ++version_});
    }
    REQUIRE(opened_.Write(batch) == WriteResult());
  }
  void WriteSome(std::uint64_t count) {
    WriteBatch batch{.epoch = 1};
    std::set<std::string> keys;
    for (; count > 0; --count) {
      const std::string key = "key" + std::to_string(random_.Below(keys_));
      if (!keys.insert(key).second) continue;
      WriteItem& item = batch.items.emplace_back();
      item.key = key;
      item.version = ++version_;
      if (random_.Below(4) == 0) {
        item.kind = WriteKind::kDelete;
        values_.erase(key);
      } else {
        item.value = values_[key] = RandomValue(random_);
      }
      batch.bytes += key.size() + item.value.size();
      Note(key);
    }
    REQUIRE(opened_.Write(batch) == WriteResult());
  }
  void DoSomething() {
    WriteSome(random_.Below(40));
    ReadSome();
    ChangeLayers();
    ReadSome();
    switch (random_.Below(6)) {
      case 0:
        opened_.shard().Compact();
        break;
      case 1:
        opened_.Rest();
        break;
      default:
        opened_.shard().Poll();
    }
  }
  void ReadSome() {
    std::vector<std::string> names;
    for (std::uint64_t i = random_.Below(20); i > 0; --i)
      names.push_back("key" + std::to_string(random_.Below(keys_)));
    std::map<std::string, std::string> expected, read;
    for (const std::string& name : names) {
      if (const auto at = values_.find(name); at != values_.end()) expected.insert(*at);
    }
    const std::vector<std::string_view> keys(names.begin(), names.end());
    opened_.shard().Read(keys, [&](std::size_t i, Stamp, std::optional<std::string_view> value) {
      if (value) read[names[i]] = *value;
    });
    CHECK(read == expected);
  }
  void ChangeLayers() {
    Shard& shard = opened_.shard();
    switch (random_.Below(4)) {
      case 0:
        (void)shard.AddLayer();
        break;
      case 1:
        (void)shard.RemoveLayer();
        break;
      case 2:
        opened_.PollUntil([&] { return !shard.filling(); });
        break;
      default:
        break;
    }
  }
  void Compact() {
    opened_.shard().Compact();
    opened_.Rest();
  }

  // True: it was in several parts.
  bool Search(const LogQuery& query) {
    query_ = query;
    always_.clear();
    ever_.clear();
    for (const auto& [key, value] : values_) {
      if (Matches(key)) always_.insert(key);
    }
    ever_ = always_;
    std::multiset<std::string> found;
    ShardSearch search = opened_.shard().BeginSearch(query);
    int parts = 1;
    for (; search.Step([&](KeyView key) { return found.emplace(key), true; }); ++parts) {
      search.Keep();
      DoSomething();
    }
    std::vector<std::string> missed, wrong;
    for (const std::string& key : always_) {
      if (found.count(key) != 1) missed.push_back(key);
    }
    for (const std::string& key : found) {
      if (!ever_.contains(key) || found.count(key) != 1) wrong.push_back(key);
    }
    CAPTURE(parts);
    CHECK(missed == std::vector<std::string>());
    CHECK(wrong == std::vector<std::string>());
    return parts > 1;
  }

  // Counts while the shard is changed, and then while it is not.
  void Count(const LogQuery& query) {
    query_ = query;
    for (const bool changing : {true, false}) {
      always_.clear();
      for (const auto& [key, value] : values_) {
        if (Matches(key)) always_.insert(key);
      }
      ever_ = always_;
      std::uint64_t matches = 0;
      ShardSearch search = opened_.shard().BeginSearch(query);
      while (search.StepToCount(matches)) {
        search.Keep();
        if (changing) DoSomething();
      }
      CAPTURE(changing);
      CHECK(matches >= always_.size());
      CHECK(matches <= ever_.size());
    }
  }

 private:
  [[nodiscard]] bool Matches(const std::string& key) const {
    const auto at = values_.find(key);
    if (at == values_.end()) return false;
    if (query_.kind == LogQuery::Kind::kContains)
      return at->second.find(query_.text) != std::string::npos;
    const std::string colour = at->second.substr(0, at->second.find('|'));
    return query_.kind == LogQuery::Kind::kEqual ? colour == query_.text
                                                 : colour.starts_with(query_.text);
  }
  void Note(const std::string& key) {
    if (Matches(key)) {
      ever_.insert(key);
    } else {
      always_.erase(key);
    }
  }

  SplitMix64 random_;
  const std::uint64_t keys_;
  OpenedShard opened_;
  std::map<std::string, std::string> values_;
  Version version_ = 0;
  LogQuery query_;
  std::set<std::string> always_;
  std::set<std::string> ever_;
};

TEST_CASE("a search in parts finds what matched all the time", "[shard][not_tsan]") {
  const std::uint64_t seed = GENERATE(range(1, 5));
  CAPTURE(seed);
  SearchedShard shard(seed);
  shard.WriteSome(kKeys);
  if (seed % 2 == 0) shard.Compact();
  shard.WriteSome(kKeys / 4);
  using Kind = LogQuery::Kind;
  CHECK(shard.Search({Kind::kEqual, 0, "red"}));
  CHECK(shard.Search({Kind::kPrefix, 0, "b"}));
  CHECK(shard.Search({Kind::kContains, 0, "d|xx"}));
  CHECK(shard.Search({Kind::kContains, 0, ""}));
}

// In some rounds more records are hidden than match, in some fewer, and in some none.
TEST_CASE("a count in parts is that of a brute-force model", "[shard][not_tsan][long]") {
  const std::uint64_t seed =
      GENERATE(range(std::uint64_t{1}, 1 + stout::test::Rounds("STOUT_SEARCH_ROUNDS", 3)));
  CAPTURE(seed);
  SplitMix64 random(static_cast<std::uint64_t>(seed));
  SearchedShard shard(random.Next(), seed % 3 == 0 ? kKeys : 200);
  for (int round = 0; round < 3; ++round) {
    shard.WriteSome(random.Below(1000));
    shard.DoSomething();
    if (random.Below(3) != 0) shard.Compact();
    if (random.Below(4) != 0) shard.WriteSome(random.Below(random.Below(2) == 0 ? 20 : 1000));
    for (const char* const text : {"red", "blue", "green", ""}) {
      for (const auto kind : {LogQuery::Kind::kEqual, LogQuery::Kind::kPrefix}) {
        CAPTURE(round, text, kind);
        shard.Count({.kind = kind, .text = text});
      }
    }
    shard.Count({.kind = LogQuery::Kind::kPrefix, .text = "r"});
    shard.Count({.kind = LogQuery::Kind::kContains, .text = "d|xx"});
    shard.Count({.kind = LogQuery::Kind::kContains});
  }
}

TEST_CASE("a count sees the hidden records, or the hits if these are fewer", "[shard]") {
  OpenedShard opened{Schema::Make({"colour"}, '|').value()};
  opened.options.compaction = {};
  opened.Open();
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < 3000; ++i)
    batch.items.push_back(
        {.key = "key" + std::to_string(i), .value = i < 2990 ? "red" : "blue", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  const auto count = [&](const std::string& text, LogQuery::Kind kind, std::uint64_t& seen) {
    std::uint64_t matches = 0;
    ShardSearch search = opened.shard().BeginSearch({.kind = kind, .text = text});
    while (search.StepToCount(matches)) continue;
    seen = search.records_seen();
    return matches;
  };
  const auto kind = GENERATE(LogQuery::Kind::kEqual, LogQuery::Kind::kPrefix);
  std::uint64_t seen = 0;
  CHECK(count("red", kind, seen) == 2990);
  CHECK(seen == 0);
  for (int i = 0; i < 20; ++i)
    REQUIRE(opened.Delete("key" + std::to_string(i), 2) == WriteResult());
  for (int i = 20; i < 50; ++i)
    REQUIRE(opened.Put("key" + std::to_string(i), 2, "red") == WriteResult());
  REQUIRE(opened.Put("key50", 2, "blue") == WriteResult());
  REQUIRE(opened.Put("key2999", 2, "red") == WriteResult());
  CHECK(count("red", kind, seen) == 2990 - 20 - 1 + 1);
  CHECK(seen == 52);  // number of hidden records
  CHECK(count("blue", kind, seen) == 10);
  CHECK(seen == 10);  // number of hits in the compressed file
}

TEST_CASE("a search of much that is in the log's table finds what matched all the time",
          "[shard]") {
  const std::uint64_t seed = GENERATE(range(1, 4));
  CAPTURE(seed);
  SearchedShard shard(seed);
  shard.CompactNothing();
  shard.WriteSome(2 * kKeys);
  using Kind = LogQuery::Kind;
  for (int i = 0; i < 3; ++i) CHECK(shard.Search({Kind::kEqual, 0, "red"}));
  CHECK(shard.Search({Kind::kPrefix, 0, "b"}));
}

TEST_CASE("a search for what more keys have than are listed finds what matched all the time",
          "[shard][not_tsan]") {
  const std::uint64_t seed = GENERATE(range(1, 4));
  CAPTURE(seed);
  SearchedShard shard(seed, ShardSearch::kMaxListed + 1000);
  shard.CompactNothing();
  shard.WriteEach("red|");
  for (int i = 0; i < 2; ++i) CHECK(shard.Search({LogQuery::Kind::kEqual, 0, "red"}));
}

TEST_CASE("one step of a search of the log's table finds fewer than 1000 keys", "[shard]") {
  const auto kind = GENERATE(LogQuery::Kind::kEqual, LogQuery::Kind::kPrefix);
  const std::size_t keys = GENERATE(std::size_t{5000}, ShardSearch::kMaxListed + 1);
  OpenedShard opened{Schema::Make({"colour"}, '|').value()};
  opened.options.compaction = {};
  opened.Open();
  WriteBatch batch{.epoch = 1};
  for (std::size_t i = 0; i < keys; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "red", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  ShardSearch search = opened.shard().BeginSearch({.kind = kind, .text = "red"});
  std::size_t found = 0;
  std::size_t most = 0;
  for (bool more = true; more;) {
    const std::size_t before = found;
    more = search.Step([&](KeyView) { return ++found, true; });
    most = std::max(most, found - before);
  }
  CHECK(found == keys);
  CHECK(most < 1000);
}

TEST_CASE("a search ends when its visitor has enough, and of what is not there at once",
          "[shard]") {
  OpenedShard opened{Schema::Make({"colour"}, '|').value()};
  for (int i = 0; i < 5; ++i) {
    REQUIRE(opened.Put("key" + std::to_string(i), 1, "red") == WriteResult());
  }
  CHECK(test::Search(opened.shard(), {.text = "red"}, 2).size() == 2);
  CHECK(test::Search(opened.shard(), {.attribute = 1, .text = "red"}).empty());
  opened.shard().Compact();
  opened.Rest();
  CHECK(test::Search(opened.shard(), {.text = "red"}, 2).size() == 2);
  CHECK(test::Search(opened.shard(), {.text = "blue"}).empty());
}

TEST_CASE("a part of a search is short where values are long", "[not_tsan]") {
  OpenedShard opened{Schema::Make({"colour", "rest"}, '|').value()};
  opened.options.compaction = {};
  const auto encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  opened.options.encoding = encoding;
  opened.Open();
  constexpr std::uint64_t kRecords = 40;
  const auto write = [&](std::uint64_t count, const std::string& value, Version version) {
    WriteBatch batch{.epoch = 1};
    for (std::uint64_t i = 0; i < count; ++i)
      batch.items.push_back({.key = "key" + std::to_string(i), .value = value, .version = version});
    REQUIRE(opened.Write(batch) == WriteResult());
  };
  write(kRecords, "red|" + std::string(32'000, 'x'), 1);
  opened.shard().Compact();
  opened.Rest();
  const LogQuery red{.attribute = 0, .text = "red"};

  ShardSearch search = opened.shard().BeginSearch(red);
  std::uint64_t most = 0;
  for (bool more = true; more;) {
    std::uint64_t found = 0;
    more = search.Step([&](KeyView) { return ++found, true; });
    most = std::max(most, found);
  }
  CHECK(most == (encoding == Encoding::kText ? 1 : 2));  // 16 KiB, 64 KiB

  write(10, "blue|", 2);
  ShardSearch count = opened.shard().BeginSearch(red);
  std::uint64_t matches = 0;
  most = 0;
  for (bool more = true; more;) {
    const std::uint64_t before = count.records_seen();
    more = count.StepToCount(matches);
    most = std::max(most, count.records_seen() - before);
  }
  CHECK(matches == kRecords - 10);
  CHECK(most > 0);
  CHECK(most <= 3);
}

}  // namespace
}  // namespace stout::blowfish
