// A file with a text index against its texts.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/store/succinct_store.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/value_reader.h"
#include "index_file_test_support.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Texts = std::map<std::string, std::string>;
using TextPlaces = std::set<std::pair<std::uint32_t, std::uint64_t>>;

// Up to `longest` bytes out of `letters`; out of all, if there are none.
std::string TextOf(std::string_view letters, std::uint64_t longest, SplitMix64& random) {
  std::string text(random.Below(longest + 1), '\0');
  for (char& byte : text) {
    byte = letters.empty() ? static_cast<char>(random.Below(256))
                           : letters[random.Below(letters.size())];
  }
  return text;
}

// None, one or many; empty, equal, of one letter, of few or of all bytes.
Texts RandomTexts(SplitMix64& random) {
  using std::string_view_literals::operator""sv;
  constexpr std::array<std::string_view, 5> kLetters = {"a"sv, "ab"sv, "abcdefgh "sv, "\0\xff|"sv,
                                                        ""sv};
  const std::string_view letters = kLetters[random.Below(kLetters.size())];
  std::uint64_t longest = random.Below(4) == 0 ? 400 : random.Below(20);
  std::uint64_t most = random.Below(4) == 0 ? 2 : 80;
  if (random.Below(6) == 0) longest = 10'000, most = 3;  // Some are read by several walks.
  Texts texts;
  std::string text;
  for (std::uint64_t i = random.Below(most); i > 0; --i) {
    if (random.Below(4) > 0) text = TextOf(letters, longest, random);
    texts[TextOf(letters, 12, random)] = text;
  }
  return texts;
}

void WriteTexts(const Texts& texts, const std::string& path) {
  SuccinctStoreWriter writer({}, kMaxValueBytes, Encoding::kText);
  for (const auto& [key, text] : texts) writer.Append({key, {}, text});
  REQUIRE(writer.Finish(path) == ErrorCode());
}

std::unique_ptr<SuccinctStore> OpenTexts(const std::string& path, Verify verify) {
  Diagnostics why;
  auto opened = SuccinctStore::Open(path, verify, &why);
  CAPTURE(why.message);
  REQUIRE(opened.has_value());
  REQUIRE((*opened)->text() != nullptr);
  return std::move(*opened);
}

void CheckGets(SuccinctStore& store, const Texts& texts) {
  REQUIRE(store.records() == texts.size());
  ValueReader reader(store);
  std::vector<std::uint32_t> all(texts.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::string> read(texts.size()), read_const(texts.size());
  reader.GetAll(all, [&](std::size_t i, std::string_view text) { read[i] = text; });
  std::as_const(*store.text()).ReadAll(all, [&](std::size_t i, std::string_view text) {
    read_const[i] = text;
  });
  std::uint32_t record = 0;
  for (const auto& [key, text] : texts) {
    CHECK(store.keys().Find(key) == record);
    CHECK(store.text()->SizeOf(record) == text.size());
    CHECK(reader.Get(record) == text);
    CHECK(read[record] == text);
    CHECK(read_const[record] == text);
    ++record;
  }
}

void CheckRanges(SuccinctStore& store, const Texts& texts, SplitMix64& random) {
  std::uint32_t record = 0;
  for (const auto& [key, text] : texts) {
    const std::uint64_t offset = random.Below(text.size() + 2);
    const std::uint64_t size = random.Below(300);
    CAPTURE(key, offset, size);
    TextBuffer read;
    store.text()->Extract(record++, offset, size, read);
    CHECK(read.view() == (offset < text.size() ? text.substr(offset, size) : ""));
  }
}

TextPlaces Occurrences(const Texts& texts, const std::string& wanted) {
  TextPlaces places;
  std::uint32_t record = 0;
  for (const auto& [key, text] : texts) {
    for (std::size_t at = text.find(wanted); at < text.size(); at = text.find(wanted, at + 1)) {
      places.emplace(record, at);
    }
    ++record;
  }
  return places;
}

void CheckSearch(SuccinctStore& store, const Texts& texts, const std::string& wanted,
                 SplitMix64& random) {
  CAPTURE(wanted);
  const TextPlaces occurrences = Occurrences(texts, wanted);
  const RowRange rows = store.text()->Search(wanted);
  REQUIRE(rows.size() == occurrences.size());
  // No more than are wanted.
  const std::size_t most = random.Below(occurrences.size() + 1) + 1;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  store.text()->Locate(rows, [&](std::uint32_t record, std::uint64_t offset) {
    found.emplace_back(record, offset);
    return found.size() < most;
  });
  CHECK(found.size() == std::min(most, occurrences.size()));
  const TextPlaces distinct(found.begin(), found.end());
  CHECK(distinct.size() == found.size());
  CHECK(std::ranges::includes(occurrences, distinct));
}

void CheckSearches(SuccinctStore& store, const Texts& texts, SplitMix64& random) {
  std::string all;
  for (const auto& [key, text] : texts) all += text;
  for (int i = 0; i < 12; ++i) {
    // Also across texts, where it is not to be found, or with a byte more.
    std::string wanted = all.substr(random.Below(all.size() + 1), random.Below(6));
    if (random.Below(4) == 0) wanted += static_cast<char>(random.Below(256));
    CheckSearch(store, texts, wanted, random);
  }
}

TEST_CASE("a file with a text index gives back texts, parts of them and what is searched",
          "[text_file][long]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, stout::test::Rounds("STOUT_SEEDS", 10)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.texts";
  const Texts texts = RandomTexts(random);
  WriteTexts(texts, path);

  // Again and again, with layers and without.
  for (const Verify verify : {Verify::kEverything, Verify::kHeader}) {
    const auto store = OpenTexts(path, verify);
    TextIndex& index = *store->text();
    for (int layers = 0; layers < 3; ++layers) {
      CAPTURE(layers);
      CheckGets(*store, texts);
      CheckRanges(*store, texts, random);
      CheckSearches(*store, texts, random);
      for (std::uint64_t i = random.Below(6); i > 0; --i) index.positions_at().Add();
      for (std::uint64_t i = random.Below(6); i > 0; --i) index.rows_of().Add();
      if (random.Below(2) == 0) index.FillLayers(0, index.records());
    }
  }
}

struct Damaged {
  Damaged() : path(directory.path() + "/damaged") {
    WriteTexts({{"a", "one two"}, {"b", ""}, {"c", std::string(5000, 'x') + " two three"}}, path);
  }

  const test::TempDirectory directory;
  const std::string path;

  // The same with other sections, whose checksums are right.
  template <typename Change>
  std::string Rewritten(Change change) {
    const std::string to = directory.path() + "/rewritten";
    const auto from = IndexFile::Open(path, SuccinctStore::kFileKind, SuccinctStore::kFileVersion,
                                      Verify::kEverything);
    REQUIRE(from.has_value());
    Sections sections = SectionsOf(*from);
    change(sections);
    REQUIRE(Publish(to, sections, nullptr, SuccinctStore::kFileKind, SuccinctStore::kFileVersion) ==
            ErrorCode());
    return to;
  }
};

TEST_CASE("parts of a text index that do not fit each other are refused", "[text_file]") {
  Damaged file;
  // Why it is refused with that change of a section, which is left out if it says so.
  const auto damage = [&](std::string_view name, const auto& change) {
    const std::string rewritten = file.Rewritten([&](Sections& sections) {
      const auto section = std::ranges::find(sections, name, &Sections::value_type::first);
      if (!change(section->second)) sections.erase(section);
    });
    Diagnostics why;
    const auto opened = SuccinctStore::Open(rewritten, Verify::kEverything, &why);
    return opened.has_value() ? "" : why.message;
  };
  CHECK(damage("keys", [](Bytes&) { return true; }).empty());
  for (const std::string_view name :
       {"keys", "text begins", "text rows", "text positions", "text psi entries",
        "text psi numbers", "text first rows", "text start entries", "text start numbers"}) {
    CAPTURE(name);
    const auto misfit = Catch::Contains("its parts do not match");
    CHECK_THAT(damage(name, [](Bytes&) { return false; }), misfit);
    if (name == "text psi numbers" || name == "text start numbers")
      continue;  // Their size tells nothing.
    CHECK_THAT(damage(name,
                      [](Bytes& bytes) {
                        bytes.resize(bytes.size() / 2);
                        return true;
                      }),
               misfit);
  }
  // A sample beyond the text.
  CHECK_THAT(damage("text positions",
                    [](Bytes& bytes) {
                      bytes[3] = std::byte{1};
                      return true;
                    }),
             Catch::Contains("its parts do not match"));
  // A byte more than there are symbols.
  CHECK_THAT(damage("text alphabet",
                    [](Bytes& bytes) {
                      bytes[0] ^= std::byte{1};
                      return true;
                    }),
             Catch::Contains("its parts do not match"));
}

// A file that was made to deceive: its checksums are right, some of its bytes are not. Sanitizers
// see what is read beyond it.
TEST_CASE("a text index with wrong bytes is refused, or answers something", "[text_file]") {
  const std::uint64_t seed = GENERATE(range(1, 150));
  CAPTURE(seed);
  SplitMix64 random(seed);
  Damaged file;
  const std::string wrong = file.Rewritten([&](Sections& sections) {
    Bytes& bytes = sections[random.Below(sections.size())].second;
    if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<std::byte>(random.Next());
  });
  const auto opened = SuccinctStore::Open(wrong);
  if (!opened || (*opened)->text() == nullptr) return;
  TextIndex& index = *(*opened)->text();
  for (int layers = 0; layers < 3; ++layers) {
    for (std::uint32_t record = 0; record < index.records(); ++record) {
      TextBuffer text;
      index.Get(record, text);
      CHECK(text.size() == index.SizeOf(record));
    }
    index.FillLayers(0, index.records());
    for (const std::string_view wanted : {"", "o", "t", "two", "e"}) {
      std::uint64_t found = 0;
      const RowRange rows = index.Search(wanted);
      index.Locate(rows, [&](std::uint32_t record, std::uint64_t) {
        CHECK(record < index.records());
        return ++found < 100;
      });
      CHECK(found <= rows.size());
    }
    while (index.rows_of().Add() && index.rows_of().finest() > 2) {
    }
    index.positions_at().Add();
  }
}

}  // namespace
}  // namespace stout::blowfish
