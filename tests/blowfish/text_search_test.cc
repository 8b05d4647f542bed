// Goal: in a shard with a text index, searches find what a brute-force search of all values finds,
// at a cost that follows from the matches. Method: random values of few letters, so that substrings
// occur several times, overlap and meet at the ends of values; keys are replaced and deleted,
// merged into many files or few, and the shard is opened again.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shard_fixture.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::OpenedShard;
using Kind = LogQuery::Kind;
using TextValues = std::map<std::string, std::string>;
using std::string_view_literals::operator""sv;

std::string RandomLetters(SplitMix64& random, std::string_view letters, std::uint64_t longest) {
  std::string text(random.Below(longest + 1), '\0');
  for (char& byte : text) byte = letters[random.Below(letters.size())];
  return text;
}

bool MatchesByForce(const Schema& schema, const std::string& value, const LogQuery& query) {
  if (query.kind == Kind::kContains) return value.find(query.text) != std::string::npos;
  const auto attribute = schema.Attribute(value, query.attribute);
  return attribute && (query.kind == Kind::kEqual ? *attribute == query.text
                                                  : attribute->starts_with(query.text));
}

class TextShard {
 public:
  TextShard(SplitMix64& random, const Schema& schema) : random_(random), opened_(schema, true) {
    if (random.Below(2) == 0) opened_.options.max_file_bytes = 3000;  // many files
    opened_.Open();
    REQUIRE(opened_.shard().text_index());
  }

  void ChangeSome(std::string_view letters, std::uint64_t longest) {
    WriteBatch batch{.epoch = 1};
    std::set<std::string> keys;
    for (std::uint64_t i = random_.Below(300); i > 0; --i) {
      const std::string key = "key" + std::to_string(random_.Below(400));
      if (!keys.insert(key).second) continue;
      WriteItem& item = batch.items.emplace_back();
      item.key = key;
      item.version = ++version_;
      if (random_.Below(5) == 0) {
        item.kind = WriteKind::kDelete;
        values_.erase(key);
      } else {
        item.value = values_[key] = RandomLetters(random_, letters, longest);
      }
    }
    REQUIRE(opened_.Write(batch) == WriteResult());
  }
  void MergeOrOpenAgain() {
    switch (random_.Below(4)) {
      case 0:
        opened_.shard().Compact();
        opened_.Rest();
        break;
      case 1:
        opened_.options.text_index = false;  // It keeps its own.
        opened_.Open();
        CHECK(opened_.shard().text_index());
        break;
      case 2:
        (void)opened_.AddLayer();
        break;
      default:
        break;
    }
  }

  void Check(const LogQuery& query) {
    CAPTURE(query.text, query.attribute, query.kind);
    std::multiset<std::string> expected;
    for (const auto& [key, value] : values_) {
      if (MatchesByForce(opened_.shard().schema(), value, query)) expected.insert(key);
    }
    const auto found = test::Search(opened_.shard(), query);
    CHECK(std::multiset<std::string>(found.begin(), found.end()) == expected);
    CHECK(test::Search(opened_.shard(), query, 2).size() ==
          std::min<std::size_t>(2, expected.size()));
    std::uint64_t matches = 0;
    ShardSearch count = opened_.shard().BeginSearch(query);
    while (count.StepToCount(matches)) continue;
    CHECK(matches == expected.size());
  }
  // A substring of one value is often found. A substring of two adjacent values must not be found
  // where they meet.
  std::string SomeSubstring(std::uint64_t longest) {
    std::string text;
    for (auto value = values_.begin(); value != values_.end() && random_.Below(20) != 0; ++value)
      text = value->second + text.substr(0, longest);
    return text.substr(random_.Below(text.size() + 1), random_.Below(longest + 1));
  }

  void CheckRanges() {
    for (const auto& [key, value] : values_) {
      const auto place = [&] { return static_cast<std::int64_t>(random_.Below(50)) - 25; };
      const ByteRange range{place(), place()};
      const auto [offset, size] = range.In(value.size());
      CAPTURE(key, range.first, range.last);
      CHECK(opened_.shard().ReadRange(key, range) == value.substr(offset, size));
    }
    CHECK_FALSE(opened_.shard().ReadRange("no such key", {}));
  }

 private:
  SplitMix64& random_;
  OpenedShard opened_;
  TextValues values_;
  Version version_ = 0;
};

TEST_CASE("searches of a shard with a text index find what brute force finds",
          "[shard][not_tsan]") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  SplitMix64 random(seed);
  constexpr std::array kLetters{"a"sv, "ab|"sv, "abc|\n"sv, "\0\xff|a"sv};
  const std::string_view letters = kLetters[random.Below(kLetters.size())];
  const std::uint64_t longest = random.Below(3) == 0 ? 150 : 12;
  const Schema schema =
      random.Below(3) == 0 ? Schema() : Schema::Make({"a", "b", "c"}, '|').value();
  TextShard shard(random, schema);
  for (int round = 0; round < 8; ++round) {
    CAPTURE(round);
    shard.ChangeSome(letters, longest);
    shard.MergeOrOpenAgain();
    shard.CheckRanges();
    for (int i = 0; i < 6; ++i) {
      const std::string text = shard.SomeSubstring(random.Below(10) == 0 ? 500 : 5);
      shard.Check({.kind = Kind::kContains, .text = text});
      const std::string attribute = text.substr(0, text.find('|'));
      for (std::size_t a = 0; a < schema.size(); ++a) {
        shard.Check({.kind = Kind::kEqual, .attribute = a, .text = attribute});
        shard.Check({.kind = Kind::kPrefix, .attribute = a, .text = attribute});
        shard.Check({.kind = Kind::kEqual, .attribute = a, .text = text});
      }
    }
    shard.Check({.kind = Kind::kContains, .text = ""});
    shard.Check({.kind = Kind::kContains, .text = "not there"});
  }
}

std::size_t PartsOf(const Shard& shard, const LogQuery& query, std::size_t matches) {
  std::size_t parts = 1;
  std::size_t found = 0;
  ShardSearch search = shard.BeginSearch(query);
  for (; search.Step([&](KeyView) { return ++found, true; }); ++parts) continue;
  CHECK(found == matches);
  return parts;
}

TEST_CASE("a rare substring is found in a few parts if there is a text index",
          "[shard][not_tsan]") {
  const bool text_index = GENERATE(true, false);
  OpenedShard opened{Schema::Make({"name", "rest"}, '|').value(), text_index};
  opened.options.compaction = {};
  // Otherwise a SEARCH would take an index of attributes.
  opened.options.encoding = Encoding::kBlocks;
  opened.Open();
  SplitMix64 random(1);
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = i % 1000 == 17 ? "needle" : "straw" + std::to_string(i);
    batch.items.push_back({.key = "key" + std::to_string(i),
                           .value = name + '|' + RandomLetters(random, "abcdefgh", 200),
                           .version = 1});
  }
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  const std::vector<LogQuery> queries = {
      {.kind = Kind::kContains, .text = "eedl"},
      {.kind = Kind::kContains, .text = "needle|"},
      {.kind = Kind::kEqual, .text = "needle"},
      {.kind = Kind::kPrefix, .text = "need"},
  };
  for (const LogQuery& query : queries) {
    CAPTURE(query.kind, query.text);
    const std::size_t parts = PartsOf(opened.shard(), query, 10);
    if (text_index) {
      CHECK(parts < 10);
    } else {
      CHECK(parts > 15);  // otherwise this test shows nothing
    }
  }
  // Each of many occurrences costs a walk, so that it reads them all: in parts, too.
  CHECK(PartsOf(opened.shard(), {.kind = Kind::kContains, .text = "straw"}, 9990) > 15);
}

// The mean record is short, but the substring is in long ones, where walks are long.
TEST_CASE("a search whose walks are longer than expected reads the other records", "[shard]") {
  OpenedShard opened{Schema(), true};
  opened.options.compaction = {};
  opened.Open();
  std::string value;
  for (int i = 0; i < 333; ++i) value += 'a' + std::string(59, 'x');
  for (int i = 0; i < 5000; ++i)
    REQUIRE(opened.Put("short" + std::to_string(i), 1, "zz") == WriteResult());
  for (int i = 0; i < 20; ++i)
    REQUIRE(opened.Put("long" + std::to_string(i), 1, value) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  std::set<std::string> keys;
  ShardSearch search = opened.shard().BeginSearch({.kind = Kind::kContains, .text = "a"});
  while (search.Step([&](KeyView key) { return keys.emplace(key).second; })) continue;
  CHECK(keys.size() == 20);
  CHECK(search.records_seen() < 20 * 333);  // It did not locate each of them.
}

TEST_CASE("a record with many occurrences is searched in short parts", "[shard]") {
  OpenedShard opened{Schema(), true};
  opened.options.compaction = {};
  opened.Open();
  // Every 300th byte of a long value; its walks end at samples.
  std::string value;
  for (int i = 0; i < 1000; ++i) value += "needle" + std::string(294, 'x');
  REQUIRE(opened.Put("long", 1, value) == WriteResult());
  for (int i = 0; i < 2000; ++i)
    REQUIRE(opened.Put("key" + std::to_string(i), 1, "some other value of a hundred bytes or so") ==
            WriteResult());
  opened.shard().Compact();
  opened.Rest();
  std::uint64_t matches = 0;
  ShardSearch search = opened.shard().BeginSearch({.kind = Kind::kContains, .text = "needle"});
  std::uint64_t most = 0;
  for (bool more = true; more;) {
    const std::uint64_t before = search.records_seen();
    more = search.StepToCount(matches);
    most = std::max(most, search.records_seen() - before);
  }
  CHECK(matches == 1);
  CHECK(most > 1);
  CHECK(most < 100);
}

}  // namespace
}  // namespace stout::blowfish
