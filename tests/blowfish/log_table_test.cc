#include "blowfish/log/log_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

Schema ThreeAttributes() { return Schema::Make({"name", "city", "note"}, '|').value(); }

void Put(LogTable& table, std::string_view key, Version version, std::string_view value) {
  table.Apply({.key = key, .stamp = {1, version}, .value = value});
}
void Delete(LogTable& table, std::string_view key, Version version) {
  table.Apply({.kind = Operation::Kind::kDelete,
               .key = key,
               .stamp = {1, version},
               .deleted_at_ms = 1000 + version});
}

// The records that match, as a search of a shard finds them.
std::vector<Record> Search(const LogTable& table, const LogQuery& query) {
  std::vector<Record> records;
  const auto see = [&](std::size_t entry) {
    if (table.Matches(table.At(entry), query)) records.push_back(table.At(entry).record);
    return true;
  };
  if (query.kind == LogQuery::Kind::kEqual) {
    table.ForEachListed(query, see);
  } else {
    for (std::size_t entry = 0; entry < table.size(); ++entry) see(entry);
  }
  return records;
}

std::size_t Count(const LogTable& table, const LogQuery& query) {
  return Search(table, query).size();
}

TEST_CASE("a table tells a value, a tombstone and nothing apart", "[log]") {
  LogTable table(ThreeAttributes());
  Put(table, "ann", 1, "Ann|rome");
  Put(table, "bob", 2, "Bob|oslo");
  Delete(table, "bob", 3);
  Delete(table, "eve", 4);
  Put(table, "eve", 5, "");
  REQUIRE(table.Find("ann"));
  CHECK(table.Find("ann")->record == Record{"ann", {1, 1}, "Ann|rome"});
  REQUIRE(table.Find("bob"));
  CHECK(table.Find("bob")->deleted);
  CHECK(table.Find("bob")->deleted_at_ms == 1003);
  CHECK(table.Find("bob")->record == Record{"bob", {1, 3}, ""});
  CHECK_FALSE(table.Find("eve")->deleted);
  CHECK(table.Find("joe") == nullptr);
  CHECK(table.size() == 3);
}

TEST_CASE("an older state changes nothing, nor does the same one again", "[log]") {
  LogTable table(ThreeAttributes());
  Put(table, "ann", 2, "Ann|rome");
  Put(table, "ann", 1, "Ann|oslo");
  Put(table, "ann", 2, "Ann|bern");
  Delete(table, "ann", 1);
  CHECK(table.Find("ann")->record.value == "Ann|rome");
  CHECK(Count(table, {LogQuery::Kind::kEqual, 1, "oslo"}) == 0);
  table.Apply({.key = "zero", .value = "a stamp of zero is one, too"});
  CHECK_FALSE(table.Find("zero")->deleted);
}

TEST_CASE("an attribute is matched whole, and where the value has it", "[log]") {
  LogTable table(ThreeAttributes());
  Put(table, "a", 1, "rome|oslo|rome");
  Put(table, "b", 1, "oslo|rome");
  Put(table, "c", 1, "oslo|");
  Put(table, "d", 1, "oslo");
  using Kind = LogQuery::Kind;
  CHECK(Count(table, {Kind::kEqual, 1, "rome"}) == 1);
  CHECK(Count(table, {Kind::kEqual, 1, "rom"}) == 0);
  CHECK(Count(table, {Kind::kEqual, 1, ""}) == 1);
  CHECK(Count(table, {Kind::kPrefix, 1, ""}) == 3);
  CHECK(Count(table, {Kind::kPrefix, 0, "os"}) == 3);
  CHECK(Count(table, {Kind::kContains, 0, "oslo|"}) == 3);
  CHECK(Count(table, {Kind::kEqual, 3, "rome"}) == 0);
  CHECK(Count(table, {Kind::kPrefix, 3, ""}) == 0);
}

// A table and a std::map through the same operations.
struct Models {
  struct State {
    Stamp stamp;
    std::optional<std::string> value;
  };
  LogTable table{ThreeAttributes()};
  std::map<std::string, State> model;

  void Apply(const std::string& key, Stamp stamp, std::optional<std::string> value) {
    Operation operation{.key = key, .stamp = stamp};
    if (value) {
      operation.value = *value;
    } else {
      operation.kind = Operation::Kind::kDelete;
    }
    table.Apply(operation);
    const auto [state, added] = model.try_emplace(key);
    if (added || state->second.stamp < stamp) state->second = {stamp, std::move(value)};
  }

  // The result of a query: keys and stamps in order.
  std::vector<std::pair<std::string, Stamp>> Expect(const LogQuery& query) const {
    std::vector<std::pair<std::string, Stamp>> matches;
    for (const auto& [key, state] : model) {
      if (!state.value) continue;
      std::optional<std::string_view> text = *state.value;
      if (query.kind != LogQuery::Kind::kContains) {
        text = table.schema().Attribute(*state.value, query.attribute);
      }
      if (!text) continue;
      const bool matches_text = query.kind == LogQuery::Kind::kEqual ? *text == query.text
                                : query.kind == LogQuery::Kind::kPrefix
                                    ? text->starts_with(query.text)
                                    : text->find(query.text) != std::string::npos;
      if (matches_text) matches.emplace_back(key, state.stamp);
    }
    return matches;
  }
  std::vector<std::pair<std::string, Stamp>> Ask(const LogQuery& query) const {
    std::vector<std::pair<std::string, Stamp>> matches;
    for (const Record& record : Search(table, query)) {
      matches.emplace_back(record.key, record.stamp);
    }
    std::sort(matches.begin(), matches.end());
    return matches;
  }
};

std::string RandomWord(SplitMix64& random) {
  return std::string(random.Below(3), static_cast<char>('a' + random.Below(3)));
}

TEST_CASE("a table answers as a map does", "[log]") {
  const std::uint64_t seed = GENERATE(range(0, 60));
  CAPTURE(seed);
  SplitMix64 random(seed);
  Models models;
  const std::uint64_t keys = 1 + random.Below(60);
  for (int i = 0; i < 400; ++i) {
    const std::string key = std::to_string(random.Below(keys));
    std::optional<std::string> value = RandomWord(random);
    for (std::uint64_t more = random.Below(4); more > 0; --more) *value += "|" + RandomWord(random);
    if (random.Below(4) == 0) value.reset();
    models.Apply(key, {random.Below(3), random.Below(200)}, std::move(value));
    if (i % 20 != 0) continue;
    const std::string text = RandomWord(random);
    for (const auto kind :
         {LogQuery::Kind::kEqual, LogQuery::Kind::kPrefix, LogQuery::Kind::kContains}) {
      for (std::size_t attribute = 0; attribute < 3; ++attribute) {
        const LogQuery query{kind, attribute, text};
        REQUIRE(models.Ask(query) == models.Expect(query));
      }
    }
  }
  std::vector<std::string> in_order;
  for (const LogEntry* entry : models.table.InKeyOrder()) {
    const std::string key(entry->record.key);
    in_order.push_back(key);
    const Models::State& state = models.model.at(key);
    CHECK(entry == models.table.Find(key));
    CHECK(entry->record.stamp == state.stamp);
    CHECK(entry->deleted == !state.value);
    CHECK(entry->record.value == state.value.value_or(""));
  }
  CHECK(std::is_sorted(in_order.begin(), in_order.end()));
  CHECK(in_order.size() == models.model.size());
}

TEST_CASE("views stay valid and in place while the table grows, and memory is counted", "[log]") {
  LogTable table(ThreeAttributes());
  Put(table, "key", 1, "first");
  const Record first = table.Find("key")->record;
  const std::size_t before = table.bytes();
  std::size_t stored = 0;
  SplitMix64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string value(random.Below(i % 100 == 0 ? 40000 : 100), 'v');
    Put(table, "key" + std::to_string(i), 1, value);
    Put(table, "key", 2 + i, value);
    stored += 2 * value.size();
  }
  CHECK(first == Record{"key", {1, 1}, "first"});
  CHECK(table.bytes() - before > stored);
  CHECK(table.bytes() - before < 2 * stored + 2000 * 300);
}

}  // namespace
}  // namespace stout::blowfish
