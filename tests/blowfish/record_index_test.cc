// An index of records against the records themselves.

#include "blowfish/index/record_index.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/record_reader.h"
#include "build_record_index.h"
#include "change_layers.h"
#include "random_values.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

class IndexedRecords {
 public:
  IndexedRecords(const Schema& schema, std::vector<std::string> values)
      : schema_(schema),
        values_(std::move(values)),
        parts_(BuildRecordIndex(schema_,
                                std::vector<std::string_view>(values_.begin(), values_.end()))),
        index_(parts_.index.View(), parts_.tokens.alphabet()) {}

  [[nodiscard]] RecordIndex& index() { return index_; }
  [[nodiscard]] CutRule RuleOf(std::size_t a) const { return parts_.tokens.attributes[a].rule; }

  void CheckGets() {
    std::vector<std::uint32_t> records(values_.size());
    std::iota(records.begin(), records.end(), 0);
    std::reverse(records.begin(), records.end());
    std::size_t seen = 0;
    RecordReader reader(index_);
    reader.GetAll(records, [&](std::size_t i, std::string_view value) {
      CHECK(value == values_[records[i]]);
      ++seen;
    });
    CHECK(seen == values_.size());
    for (const std::uint32_t record : records) CHECK(reader.Get(record) == values_[record]);
  }

  void CheckAttributes() {
    for (std::uint32_t record = 0; record < values_.size(); ++record) {
      for (std::size_t a = 0; a < schema_.size(); ++a) {
        CAPTURE(record, a);
        TextBuffer value;
        const bool has = index_.GetAttribute(record, a, value);
        const auto expected = schema_.Attribute(values_[record], a);
        CHECK(has == expected.has_value());
        if (has && expected) CHECK(value.view() == *expected);
      }
    }
  }

  void CheckSearches(SplitMix64& random) {
    for (int i = 0; i < 20; ++i) {
      const std::size_t a = random.Below(schema_.size());
      const std::string value = Wanted(random, a);
      CAPTURE(a, value);
      CHECK(Located({index_.Search(a, value)}) ==
            Matching(a, [&](std::string_view has) { return has == value; }));
      const std::string prefix = value.substr(0, random.Below(value.size() + 1));
      CAPTURE(prefix);
      CHECK(Located(index_.SearchPrefix(a, prefix)) ==
            Matching(a, [&](std::string_view has) { return has.starts_with(prefix); }));
    }
  }

 private:
  using Records = std::vector<std::uint32_t>;

  // A value that some record has, or one that is much like it.
  std::string Wanted(SplitMix64& random, std::size_t a) const {
    if (values_.empty()) return "x";
    const auto has = schema_.Attribute(values_[random.Below(values_.size())], a);
    std::string value(has.value_or(""));
    if (!value.empty() && random.Below(4) == 0) value.pop_back();
    if (random.Below(4) == 0) value += static_cast<char>(random.Below(256));
    return value;
  }
  Records Located(const std::vector<RowRange>& ranges) {
    Records found;
    for (const RowRange rows : ranges) {
      index_.Locate(rows, [&](std::uint32_t record) {
        found.push_back(record);
        return true;
      });
    }
    std::ranges::sort(found);
    return found;
  }
  template <typename Matches>
  Records Matching(std::size_t a, Matches matches) const {
    Records found;
    for (std::uint32_t record = 0; record < values_.size(); ++record) {
      const auto has = schema_.Attribute(values_[record], a);
      if (has && matches(*has)) found.push_back(record);
    }
    return found;
  }

  Schema schema_;
  std::vector<std::string> values_;
  RecordIndexParts parts_;
  RecordIndex index_;
};

TEST_CASE("an index gives back records, attributes and what is searched", "[record_index]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  SplitMix64 random(seed);
  RandomValues made = MakeRandomValues(seed, 200);
  IndexedRecords indexed(made.schema, std::move(made.values));
  indexed.CheckGets();
  indexed.CheckAttributes();
  indexed.CheckSearches(random);
}

// Rare words are cut into chunks, so a prefix may end in a word, in a chunk, or in either.
TEST_CASE("prefixes of text and of JSON are found wherever they end", "[record_index][long]") {
  const bool json = GENERATE(false, true);
  SplitMix64 random(7);
  std::vector<std::string> values;
  for (int i = 0; i < 20'000; ++i) {
    std::string rare;
    for (std::uint64_t n = 1 + random.Below(9); n > 0; --n) {
      rare += "aeio"[random.Below(4)];
    }
    const std::string number = std::to_string(random.Below(100'000));
    const std::string name = "name" + std::string(random.Below(5), 'e');
    values.push_back(json ? "{\"session\":" + number + ",\"customer\":{\"" + name + "\":\"" + rare +
                                "\"},\"completed\":true,\"warehouse\":\"northern\"}"
                          : "the " + name + " of " + rare + " is not " + number);
  }
  IndexedRecords records(Schema(), std::move(values));
  CHECK(records.RuleOf(0).kind == (json ? CutRule::kRuns : CutRule::kWords));
  CHECK(records.RuleOf(0).chunk == 3);
  for (std::uint64_t left = stout::test::Rounds("STOUT_SEARCH_ROUNDS", 3); left > 0; --left) {
    records.CheckSearches(random);
  }
}

TEST_CASE("layers change no answer, empty, half full, full or gone", "[record_index][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 1500) / 100;
  const auto seed = GENERATE_COPY(range(std::uint64_t{0}, seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  RandomValues made = MakeRandomValues(seed, 200);
  IndexedRecords indexed(made.schema, std::move(made.values));
  RecordIndex& index = indexed.index();
  for (int step = 0; step < 8; ++step) {
    CAPTURE(step);
    ChangeLayers(random, index, random.Below(2) ? index.records_at() : index.places_of());
    indexed.CheckSearches(random);
    indexed.CheckAttributes();
    indexed.CheckGets();
  }
}

// Which layer is full, and that all of a full one is found; and from ever further away, as the
// finest ones go.
TEST_CASE("reading every record fills all layers", "[record_index]") {
  RandomValues made = MakeRandomValues(7, 500);
  REQUIRE(made.values.size() > 100);
  IndexedRecords indexed(made.schema, std::move(made.values));
  RecordIndex& index = indexed.index();
  while (index.records_at().Add()) {
  }
  while (index.places_of().Add()) {
  }
  index.FillLayers(0, index.records());
  for (LayeredSampledArray* array : {&index.records_at(), &index.places_of()}) {
    for (const LayerInfo& layer : array->Layers()) {
      CHECK(layer.state != LayerState::kFilling);
    }
  }
  SplitMix64 random(7);
  do {
    indexed.CheckSearches(random);
    indexed.CheckAttributes();
    indexed.CheckGets();
  } while (index.records_at().Remove());
}

TEST_CASE("a search may end early", "[record_index]") {
  IndexedRecords indexed(Schema(), std::vector<std::string>(1000, "the same value in all of them"));
  std::size_t found = 0;
  indexed.index().Locate(indexed.index().Search(0, "the same value in all of them"),
                         [&](std::uint32_t) { return ++found < 10; });
  CHECK(found == 10);
}

TEST_CASE("an index of one record, and of none", "[record_index]") {
  const Schema schema = Schema::Make({"a", "b"}, '|').value();
  SplitMix64 random(1);
  for (const std::vector<std::string>& values :
       {std::vector<std::string>{}, {""}, {"|"}, {"one|two"}, {"no more than one"}}) {
    IndexedRecords indexed(schema, values);
    indexed.CheckGets();
    indexed.CheckAttributes();
    indexed.CheckSearches(random);
  }
}

}  // namespace
}  // namespace stout::blowfish
