// A store of suffixes against the table that it was made of.

#include "blowfish/store/suffix_store.h"

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "random_values.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// Some keys written more than once, and some deleted.
LogTable RandomTable(std::uint64_t seed, RandomValues& made) {
  SplitMix64 random(seed);
  made = MakeRandomValues(seed, 200);
  LogTable table(made.schema);
  Version version = 0;
  for (const std::string& value : made.values) {
    const std::string key = std::to_string(random.Below(150));
    Operation operation{.key = key, .stamp = {1, ++version}, .value = value};
    if (random.Below(5) == 0) operation = {Operation::Kind::kDelete, key, {1, version}, {}, 1000};
    table.Apply(operation);
  }
  return table;
}

std::vector<std::string> Keys(const LogTable& table, const LogQuery& query) {
  std::vector<std::string> keys;
  for (std::size_t entry = 0; entry < table.size(); ++entry) {
    const LogEntry& at = table.At(entry);
    if (table.Matches(at, query)) keys.emplace_back(at.record.key);
  }
  std::ranges::sort(keys);
  return keys;
}

std::vector<std::string> Keys(const SuffixStore& store, std::span<const std::uint32_t> entries) {
  std::vector<std::string> keys;
  for (const std::uint32_t entry : entries) {
    CHECK_FALSE(store.At(entry).deleted);
    keys.emplace_back(store.At(entry).record.key);
  }
  std::ranges::sort(keys);
  return keys;
}

TEST_CASE("a suffix store has what its table has", "[suffix_store]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  RandomValues made;
  const LogTable table = RandomTable(seed, made);
  const SuffixStore store(table);
  REQUIRE(store.size() == table.size());
  CHECK(store.schema() == made.schema);
  std::uint32_t i = 0;
  for (const LogEntry* entry : table.InKeyOrder()) {
    CHECK(store.At(i).record == entry->record);
    CHECK(store.At(i).deleted == entry->deleted);
    CHECK(store.At(i).deleted_at_ms == entry->deleted_at_ms);
    CHECK(store.Find(entry->record.key) == i);
    CHECK(store.LowerBound(entry->record.key) == i);
    CHECK(store.LowerBound(std::string(entry->record.key) + '\0') == i + 1);
    ++i;
  }
  CHECK_FALSE(store.Find("no such key"));
}

TEST_CASE("a suffix store that was told to stop indexes nothing", "[suffix_store]") {
  RandomValues made;
  const LogTable table = RandomTable(1, made);
  std::stop_source stop;
  REQUIRE(stop.request_stop());
  const SuffixStore store(table, stop.get_token());
  CHECK(store.bytes() == store.text_bytes() + store.size() * sizeof(LogEntry));
}

TEST_CASE("a suffix store finds what its table finds", "[suffix_store]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  SplitMix64 random(seed);
  RandomValues made;
  const LogTable table = RandomTable(seed, made);
  const SuffixStore store(table);
  for (int n = 0; n < 30 && !made.values.empty(); ++n) {
    const std::size_t a = random.Below(made.schema.size());
    std::string text(
        made.schema.Attribute(made.values[random.Below(made.values.size())], a).value_or(""));
    if (random.Below(4) == 0) text += 'x';
    CAPTURE(a, text);
    CHECK(Keys(store, store.Search(a, text)) == Keys(table, {LogQuery::Kind::kEqual, a, text}));
    text.resize(random.Below(text.size() + 1));
    CHECK(Keys(store, store.SearchPrefix(a, text)) ==
          Keys(table, {LogQuery::Kind::kPrefix, a, text}));
  }
}

}  // namespace
}  // namespace stout::blowfish
