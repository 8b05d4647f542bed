#include "blowfish/index/token_alphabet.h"

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/speller.h"
#include "blowfish/index/tokenize.h"
#include "random_values.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Pieces = std::vector<std::string>;
using std::string_view_literals::operator""sv;

Pieces CutBy(CutRule rule, std::string_view value, const Pieces& words = {}) {
  Pieces pieces;
  Cut(
      rule, value,
      [&](bool, std::string_view word) {
        return std::find(words.begin(), words.end(), word) != words.end();
      },
      [&](bool first, std::string_view piece) {
        CHECK(first == pieces.empty());
        pieces.emplace_back(piece);
      });
  return pieces;
}

TEST_CASE("values are cut by the rule of their attribute", "[alphabet]") {
  CHECK(CutBy({CutRule::kWhole}, "12 345") == Pieces{"12 345"});
  CHECK(CutBy({CutRule::kWhole}, "") == Pieces{""});
  CHECK(CutBy({CutRule::kChunks, 2}, "12345") == Pieces{"12", "34", "5"});
  CHECK(CutBy({CutRule::kChunks, 3}, "") == Pieces{""});
  CHECK(CutBy({CutRule::kWords}, "a bc d", {"a ", "d"}) == Pieces{"a ", "b", "c", " ", "d"});
  CHECK(CutBy({CutRule::kWords}, "a  b ", {"a ", "b "}) == Pieces{"a ", " ", "b "});
  CHECK(CutBy({CutRule::kWords}, "") == Pieces{""});
  CHECK(CutBy({CutRule::kWords, 3}, "a bcdef gh", {"a "}) == Pieces{"a ", "bcd", "ef ", "gh"});
  CHECK(CutBy({CutRule::kRuns}, "ab12,", {"ab", "12"}) == Pieces{"ab", "12", ","});
  CHECK(CutBy({CutRule::kRuns, 3}, "{\"id\":12345}", {"id", "\":"}) ==
        Pieces{"{\"", "id", "\":", "123", "45", "}"});
  CHECK(CutBy({CutRule::kRuns, 3},
              "Stra\xc3\x9f"
              "e\0\0\0\0"sv) ==
        Pieces{"Str", "a\xc3\x9f", "e", std::string(3, '\0'), std::string(1, '\0')});
  CHECK(CutBy({CutRule::kRuns, 3}, "") == Pieces{""});
}

// Returns the text that the symbols of a record print, and the text of a value put together from
// them.
TEST_CASE("symbols print the values that they were made of", "[alphabet]") {
  const std::uint64_t seed = GENERATE(range(1, 100));
  CAPTURE(seed);
  const RandomValues made = MakeRandomValues(seed, 300);
  const Tokens tokens = Tokenize(made.schema, made.views());
  const TokenAlphabet alphabet = tokens.alphabet();
  REQUIRE(alphabet.attributes() == made.schema.size());

  std::vector<std::string> printed(made.values.size());
  for (std::size_t a = 0; a < alphabet.attributes(); ++a) {
    const TokenAlphabet::Attribute& attribute = alphabet.attribute(a);
    const Field& field = tokens.fields[a];
    CHECK(field.symbols == attribute.last - attribute.first);
    CHECK(field.one_each == attribute.one_each());
    std::size_t r = 0;
    bool first = true;
    for (const Symbol symbol : field.text) {
      if (symbol == Field::kEnd) {
        ++r;
        first = true;
        continue;
      }
      const auto global = static_cast<Symbol>(attribute.first + symbol);
      // Symbols that begin values are below those that go on.
      CHECK((global < attribute.next) == first);
      printed[r] += alphabet.Print(global);
      first = field.one_each;
      r += field.one_each;
    }
    CHECK(r == printed.size());
  }
  CHECK(printed == made.values);
}

TEST_CASE("pieces are found, and spelled values are those of the records", "[alphabet]") {
  const std::uint64_t seed = GENERATE(range(1, 40));
  CAPTURE(seed);
  const RandomValues made = MakeRandomValues(seed, 300);
  const Tokens tokens = Tokenize(made.schema, made.views());
  const TokenAlphabet alphabet = tokens.alphabet();
  const Speller speller(alphabet);
  for (std::size_t a = 0; a < alphabet.attributes(); ++a) {
    const TokenAlphabet::Attribute& attribute = alphabet.attribute(a);
    std::string before;
    for (std::uint32_t s = attribute.first + attribute.lacking; s < attribute.last; ++s) {
      const bool first = s < attribute.next;
      const auto symbol = static_cast<Symbol>(s);
      const std::string piece(alphabet.Piece(a, symbol));
      CHECK(speller.Find(a, first, piece) == symbol);
      if (s > attribute.first + attribute.lacking && s != attribute.next) CHECK(before < piece);
      before = piece;
    }
    CHECK_FALSE(speller.Find(a, true, "no such piece"));
    CHECK(alphabet.FindPrefix(a, true, "no such piece").empty());
    CHECK(alphabet.FindPrefix(a, true, "").last - alphabet.FindPrefix(a, true, "").first ==
          attribute.next - attribute.first - attribute.lacking);
  }
  for (const std::string& value : made.values) {
    made.schema.Split(value, [&](std::size_t a, std::string_view text) {
      const auto symbols = speller.Spell(a, text);
      REQUIRE(symbols);
      std::string spelled;
      for (const Symbol symbol : *symbols) spelled += alphabet.Piece(a, symbol);
      CHECK(spelled == text);
    });
  }
}

// The last symbol that there can be is found as others are.
TEST_CASE("pieces are found where there are as many as can be", "[alphabet]") {
  std::vector<TokenAlphabet::Text> texts(kMaxSymbols);
  const auto piece = [](std::uint32_t symbol) { return std::to_string(100000 + symbol); };
  for (std::uint32_t s = 0; s < kMaxSymbols; ++s) {
    texts[s].size = static_cast<std::uint8_t>(piece(s).copy(texts[s].bytes, 6));
  }
  for (const bool first : {true, false}) {
    const std::uint32_t all = kMaxSymbols;
    const std::vector<TokenAlphabet::Attribute> attributes{
        {.first = 0, .next = first ? all : 0, .last = all}};
    const TokenAlphabet alphabet(attributes, texts, {});
    const Speller speller(alphabet);
    std::size_t found = 0;
    for (std::uint32_t s = 0; s < all; ++s) found += speller.Find(0, first, piece(s)) == s;
    CHECK(found == all);
    CHECK_FALSE(speller.Find(0, !first, piece(all - 1)));
    CHECK_FALSE(speller.Find(0, first, piece(all)));
    CHECK_FALSE(speller.Find(0, first, ""));
  }
}

TEST_CASE("an attribute of few values has a symbol for each, a number chunks, text words",
          "[alphabet]") {
  const Schema schema = Schema::Make({"mode", "key", "comment"}, '|').value();
  SplitMix64 random(1);
  std::vector<std::string> values;
  for (int i = 0; i < 60000; ++i) {
    std::string comment;
    for (int w = 0; w < 6; ++w) comment += "word" + std::to_string(random.Below(200)) + ' ';
    values.push_back("MODE" + std::to_string(random.Below(7)) + '|' +
                     std::to_string(1000000000 + random.Below(1000000000)) + '|' + comment);
  }
  const Tokens tokens =
      Tokenize(schema, std::vector<std::string_view>(values.begin(), values.end()));
  CHECK(tokens.attributes[0].rule.kind == CutRule::kWhole);
  CHECK(tokens.attributes[0].last - tokens.attributes[0].first == 7);
  CHECK(tokens.attributes[1].rule.kind == CutRule::kChunks);
  CHECK(tokens.attributes[1].rule.chunk > 1);
  CHECK(tokens.attributes[2].rule.kind == CutRule::kWords);
  CHECK(tokens.fields[2].text.size() == values.size() * 7);  // six words and an end
}

// Rare words might be spelled, which saves a little space and takes more steps. A word that a
// sample has only once is less frequent than it seems.
TEST_CASE("an attribute of thousands of values has a symbol for each", "[alphabet]") {
  const Schema schema = Schema::Make({"date", "part"}, '|').value();
  SplitMix64 random(1);
  std::vector<std::string> values;
  for (int i = 0; i < 300000; ++i) {
    values.push_back("1992-" + std::to_string(1000 + random.Below(1 + random.Below(2500))) + '|' +
                     std::to_string(10000 + random.Below(12000)));
  }
  const Tokens tokens =
      Tokenize(schema, std::vector<std::string_view>(values.begin(), values.end()));
  CHECK(tokens.attributes[0].rule.kind == CutRule::kWhole);
  CHECK(tokens.attributes[1].rule.kind == CutRule::kWhole);
}

// A sample sees few values, and then there are too many for whole ones.
TEST_CASE("an alphabet that grows beyond its sample falls back to shorter pieces", "[alphabet]") {
  const int records = 80000;
  const int sampled = 16384;
  std::vector<std::string> values;
  for (int i = 0; i < records; ++i) values.push_back(std::to_string(i));
  for (std::int64_t i = 0; i < sampled; ++i) values[i * records / sampled] = "few";
  const Tokens tokens =
      Tokenize(Schema(), std::vector<std::string_view>(values.begin(), values.end()));
  CHECK(tokens.texts.size() <= kMaxSymbols);
  CHECK(tokens.attributes[0].rule.kind != CutRule::kWhole);
}

TEST_CASE("values are cut until it is to stop", "[alphabet]") {
  std::stop_source source;
  source.request_stop();
  const std::vector<std::string_view> values{"one", "two"};
  CHECK(Tokenize(Schema(), values).fields[0].text.size() == 2);
  CHECK(Tokenize(Schema(), values, source.get_token()).fields[0].text.empty());
}

}  // namespace
}  // namespace stout::blowfish
