// The order of rows against a sort of all suffixes, and what follows from it against the text.

#include "blowfish/index/self_index.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <vector>

#include "blowfish/index/lock_step.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

// Records of fields of symbols, as the model has them: symbols of the whole index.
using Text = std::vector<Symbol>;

struct Collection {
  std::vector<Field> fields;
  std::vector<Text> records;
};

// Fields of one symbol a record, and fields that begin with a symbol of their first half and go on
// with some of the second.
Collection RandomCollection(SplitMix64& random) {
  Collection made;
  made.records.resize(random.Below(40));
  made.fields.resize(1 + random.Below(5));
  std::vector<std::vector<Text>> parts;  // by field, by record, in symbols of the field
  for (Field& field : made.fields) {
    field.one_each = random.Below(2) == 0;
    const std::size_t half = 1 + random.Below(random.Below(3) == 0 ? 200 : 3);
    field.symbols = field.one_each ? half : 2 * half;
    const std::uint64_t longest = random.Below(6);
    std::vector<Text>& of = parts.emplace_back();
    for (std::size_t r = 0; r < made.records.size(); ++r) {
      Text& part = of.emplace_back();
      part.push_back(static_cast<Symbol>(random.Below(half)));
      if (!field.one_each) {
        for (std::uint64_t i = random.Below(longest + 1); i > 0; --i) {
          part.push_back(static_cast<Symbol>(half + random.Below(half)));
        }
      }
      field.text.insert(field.text.end(), part.begin(), part.end());
      if (!field.one_each) field.text.push_back(Field::kEnd);
    }
  }
  for (std::size_t r = 0; r < made.records.size(); ++r) {
    std::size_t first_symbol = 0;
    for (std::size_t f = made.fields.size(); f-- > 0;) {
      Text part = parts[f][r];
      for (Symbol& symbol : part) symbol = static_cast<Symbol>(symbol + first_symbol);
      made.records[r].insert(made.records[r].begin(), part.begin(), part.end());
      first_symbol += made.fields[f].symbols;
    }
  }
  return made;
}

// Records of bytes: of one field, empty ones too.
Collection RandomTexts(SplitMix64& random) {
  Collection made;
  made.records.resize(random.Below(40));
  Field& field = made.fields.emplace_back();
  field.symbols = 1 + random.Below(4);
  if (random.Below(4) == 0) field.symbols = 250 + random.Below(300);
  const std::uint64_t longest = random.Below(30);
  for (Text& record : made.records) {
    for (std::uint64_t i = random.Below(longest + 1); i > 0; --i) {
      record.push_back(static_cast<Symbol>(random.Below(field.symbols)));
    }
    field.text.insert(field.text.end(), record.begin(), record.end());
    field.text.push_back(Field::kEnd);
  }
  return made;
}

// All suffixes in their order. An end is above all symbols if nothing follows, that is at the end
// of a record; ends are in the order of the records. As fields have symbols of their own, the later
// ones lower, symbols compare as they are.
struct Suffix {
  std::size_t record;
  std::size_t place;
};
std::vector<Suffix> SortedSuffixes(const std::vector<Text>& records) {
  std::vector<Suffix> suffixes;
  for (std::size_t r = 0; r < records.size(); ++r) {
    for (std::size_t p = 0; p < records[r].size(); ++p) suffixes.push_back({r, p});
  }
  const auto key = [&](const Suffix& s) {
    std::vector<std::size_t> key(records[s.record].begin() + static_cast<std::ptrdiff_t>(s.place),
                                 records[s.record].end());
    key.push_back(kMaxSymbols + s.record);
    return key;
  };
  std::ranges::sort(suffixes, {}, key);
  return suffixes;
}

void CheckIndex(SplitMix64& random, const Collection& made) {
  const std::vector<Text>& records = made.records;
  const SelfIndexParts parts =
      BuildSelfIndex(made.fields, static_cast<std::uint32_t>(records.size()));
  const SelfIndex index = parts.View();
  const std::vector<Suffix> suffixes = SortedSuffixes(records);
  REQUIRE(index.rows() == suffixes.size());
  REQUIRE(index.records() == records.size());

  std::map<std::pair<std::size_t, std::size_t>, Row> row_of;
  for (Row row = 0; row < index.rows(); ++row)
    row_of[{suffixes[row].record, suffixes[row].place}] = row;
  for (std::size_t r = 0; r < records.size(); ++r) {
    row_of[{r, records[r].size()}] = index.rows() + static_cast<Row>(r);
  }
  for (Row row = 0; row < index.rows(); ++row) {
    const auto [record, place] = suffixes[row];
    CHECK(index.psi().At(row) ==
          Psi::Cursor{row, records[record][place], row_of.at({record, place + 1})});
  }
  for (std::uint32_t r = 0; r < records.size(); ++r) CHECK(index.Start(r) == row_of.at({r, 0}));

  // Searches, of what is there and of what is not.
  for (int i = 0; i < 20 && !records.empty(); ++i) {
    const Text& from = records[random.Below(records.size())];
    const std::size_t begin = random.Below(from.size() + 1);
    Text wanted(from.begin() + static_cast<std::ptrdiff_t>(begin), from.end());
    wanted.resize(random.Below(wanted.size() + 1));
    if (!wanted.empty() && random.Below(3) == 0) wanted.back() = from.front();
    const bool whole = random.Below(2) == 0;
    RowRange rows = whole ? index.Ends() : RowRange{0, index.rows() + index.records()};
    for (auto symbol = wanted.rbegin(); symbol != wanted.rend(); ++symbol) {
      rows = index.Precede(*symbol, rows);
    }
    std::set<Row> expected;
    for (const auto& [at, row] : row_of) {
      const Text& text = records[at.first];
      const auto rest = text.begin() + static_cast<std::ptrdiff_t>(at.second);
      const auto size = static_cast<std::size_t>(text.end() - rest);
      if (size < wanted.size() || (whole && size > wanted.size())) continue;
      if (std::equal(wanted.begin(), wanted.end(), rest)) expected.insert(row);
    }
    std::set<Row> found;
    for (Row row = rows.first; row < rows.last; ++row) found.insert(row);
    CHECK(found == expected);
  }
}

TEST_CASE("an index of fields has its rows in the order of the suffixes", "[self_index][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 1500) / 30;
  const auto seed = GENERATE_COPY(range(std::uint64_t{1}, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  CheckIndex(random, RandomCollection(random));
}

TEST_CASE("an index of texts has its rows in the order of the suffixes", "[self_index][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 1500) / 30;
  const auto seed = GENERATE_COPY(range(std::uint64_t{1}, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  CheckIndex(random, RandomTexts(random));
}

TEST_CASE("walks in lock step see what single walks see", "[self_index]") {
  const std::uint64_t seed = GENERATE(range(1, 20));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const Collection made = RandomTexts(random);
  const SelfIndexParts parts =
      BuildSelfIndex(made.fields, static_cast<std::uint32_t>(made.records.size()));
  const SelfIndex index = parts.View();
  std::vector<Text> read(made.records.size());
  std::vector<std::size_t> reading(kWalks);
  std::size_t next = 0;
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    while (next < read.size()) {
      reading[lane] = next++;
      const Row start = index.Start(static_cast<std::uint32_t>(reading[lane]));
      if (!index.IsEnd(start)) return start;
    }
    return std::nullopt;
  };
  WalkInLockStep(index.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    read[reading[lane]].push_back(cursor.symbol);
    if (!index.IsEnd(cursor.next)) return true;
    CHECK(index.EndedRecord(cursor.next) == reading[lane]);
    return false;
  });
  CHECK(read == made.records);
}

// One record of this number of random symbols.
std::vector<Field> OneLongText(std::size_t size) {
  SplitMix64 random(1);
  Field field{.symbols = 200};
  for (std::size_t i = 0; i < size; ++i)
    field.text.push_back(static_cast<Symbol>(random.Below(200)));
  field.text.push_back(Field::kEnd);
  return {field};
}

TEST_CASE("an index is the same whether it could be stopped or not", "[self_index]") {
  const std::vector<Field> fields = OneLongText((1 << 20) + 7);
  const std::stop_source source;
  const SelfIndexParts stoppable = BuildSelfIndex(fields, 1, Psi::kBlock, source.get_token());
  const SelfIndexParts parts = BuildSelfIndex(fields, 1);
  CHECK(stoppable.psi.numbers == parts.psi.numbers);
  CHECK(stoppable.starts.numbers == parts.starts.numbers);
  CHECK(stoppable.first_rows == parts.first_rows);
}

TEST_CASE("an index that is to stop is not built", "[self_index]") {
  std::stop_source source;
  source.request_stop();
  CHECK(BuildSelfIndex(OneLongText(1 << 20), 1, Psi::kBlock, source.get_token()).psi.rows == 0);
}

}  // namespace
}  // namespace stout::blowfish
