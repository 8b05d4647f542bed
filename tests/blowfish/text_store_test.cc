// A file of texts against the texts.

#include "blowfish/store/text_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "blowfish/store/text_store_writer.h"
#include "index_file_test_support.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
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
  const std::uint64_t longest = random.Below(4) == 0 ? 400 : random.Below(20);
  Texts texts;
  std::string text;
  for (std::uint64_t i = random.Below(4) == 0 ? random.Below(2) : random.Below(80); i > 0; --i) {
    if (random.Below(4) > 0) text = TextOf(letters, longest, random);
    texts[TextOf(letters, 12, random)] = text;
  }
  return texts;
}

ErrorCode WriteTexts(const Texts& texts, const std::string& path, Diagnostics* why = nullptr) {
  TextStoreWriter writer;
  for (const auto& [key, text] : texts) writer.Append(key, text);
  CHECK(writer.records() == texts.size());
  return writer.Finish(path, why);
}

std::unique_ptr<TextStore> OpenTexts(const std::string& path, Verify verify) {
  Diagnostics why;
  auto opened = TextStore::Open(path, verify, &why);
  CAPTURE(why.message);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

void CheckGets(TextStore& store, const Texts& texts) {
  REQUIRE(store.records() == texts.size());
  std::uint32_t record = 0;
  for (const auto& [key, text] : texts) {
    TextBuffer read;
    CHECK(store.Get(key, read));
    CHECK(read.view() == text);
    CHECK(store.keys().Find(key) == record);
    CHECK(store.index().SizeOf(record++) == text.size());
  }
  TextBuffer nothing;
  CHECK_FALSE(store.Get("no such key at all", nothing));
  CHECK(nothing.size() == 0);
}

void CheckRanges(TextStore& store, const Texts& texts, SplitMix64& random) {
  std::uint32_t record = 0;
  for (const auto& [key, text] : texts) {
    const std::uint64_t offset = random.Below(text.size() + 2);
    const std::uint64_t size = random.Below(300);
    CAPTURE(key, offset, size);
    TextBuffer read;
    store.index().Extract(record++, offset, size, read);
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

void CheckSearch(TextStore& store, const Texts& texts, const std::string& wanted,
                 SplitMix64& random) {
  CAPTURE(wanted);
  const TextPlaces occurrences = Occurrences(texts, wanted);
  const RowRange rows = store.index().Search(wanted);
  REQUIRE(rows.size() == occurrences.size());
  // No more than are wanted.
  const std::size_t most = random.Below(occurrences.size() + 1) + 1;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  store.index().Locate(rows, [&](std::uint32_t record, std::uint64_t offset) {
    found.emplace_back(record, offset);
    return found.size() < most;
  });
  CHECK(found.size() == std::min(most, occurrences.size()));
  const TextPlaces distinct(found.begin(), found.end());
  CHECK(distinct.size() == found.size());
  CHECK(std::ranges::includes(occurrences, distinct));
}

void CheckSearches(TextStore& store, const Texts& texts, SplitMix64& random) {
  std::string all;
  for (const auto& [key, text] : texts) all += text;
  for (int i = 0; i < 12; ++i) {
    // Also across texts, where it is not to be found, or with a byte more.
    std::string wanted = all.substr(random.Below(all.size() + 1), random.Below(6));
    if (random.Below(4) == 0) wanted += static_cast<char>(random.Below(256));
    CheckSearch(store, texts, wanted, random);
  }
}

TEST_CASE("a store of texts gives back keys, texts, parts of them and what is searched",
          "[text_store][sequential]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.texts";
  const Texts texts = RandomTexts(random);
  REQUIRE(WriteTexts(texts, path) == ErrorCode());

  // Again and again, with layers and without.
  for (const Verify verify : {Verify::kEverything, Verify::kHeader}) {
    const auto store = OpenTexts(path, verify);
    TextIndex& index = store->index();
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

TEST_CASE("the account of a text store's space has every byte of its file", "[text_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.texts";
  REQUIRE(WriteTexts({{"a", "some text"}, {"b", std::string(1000, 'x')}}, path) == ErrorCode());
  const auto store = OpenTexts(path, Verify::kEverything);
  const auto total = [&] {
    std::uint64_t bytes = 0;
    for (const Space& space : store->SpaceByPart()) bytes += space.bytes;
    return bytes;
  };
  const std::uint64_t bytes = total();
  CHECK(bytes == std::filesystem::file_size(path));
  CHECK(bytes == store->file_bytes());
  store->index().positions_at().Add();
  store->index().rows_of().Add();
  store->index().rows_of().Add();
  CHECK(total() - bytes ==
        store->index().positions_at().bytes() + store->index().rows_of().bytes());
}

TEST_CASE("keys of texts that do not come in order are refused", "[text_store]") {
  const test::TempDirectory directory;
  TextStoreWriter writer;
  writer.Append("b", "1");
  writer.Append("a", "2");
  Diagnostics why;
  CHECK(writer.Finish(directory.path() + "/0.texts", &why) == Errc::kBadOptions);
  CHECK_THAT(why.message, Catch::Contains("are not in order"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a file of texts that is to stop is not written", "[text_store]") {
  const test::TempDirectory directory;
  TextStoreWriter writer;
  writer.Append("a", "1");
  std::stop_source source;
  source.request_stop();
  Diagnostics why;
  CHECK(writer.Finish(directory.path() + "/0.texts", &why, source.get_token()) == Errc::kTransient);
  CHECK_THAT(why.message, Catch::Contains("stopped"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

// How much it does then, stop_test.cc tells; here it sorts on a thread of its own, which may be
// left alone.
TEST_CASE("a file of texts is written or not, whenever it is to stop", "[text_store]") {
  SplitMix64 random(GENERATE(range(1, 5)));
  const test::TempDirectory directory;
  TextStoreWriter writer;
  writer.Append("a", TextOf("", std::uint64_t{3} << 19, random));
  std::stop_source source;
  ErrorCode ended;
  std::atomic<bool> begun = false;
  std::jthread work([&] {
    begun = true;
    begun.notify_one();
    ended = writer.Finish(directory.path() + "/0.texts", nullptr, source.get_token());
  });
  begun.wait(false);
  source.request_stop();
  work.join();
  CHECK((ended == Errc::kTransient) == std::filesystem::is_empty(directory.path()));
}

struct Damaged {
  Damaged() : path(directory.path() + "/damaged") {
    REQUIRE(WriteTexts({{"a", "one two"}, {"b", ""}, {"c", "two three"}}, path) == ErrorCode());
    whole = ReadText(path);
  }

  const test::TempDirectory directory;
  const std::string path;
  std::string whole;

  // The same with other sections, whose checksums are right.
  template <typename Change>
  std::string Rewritten(Change change) {
    const std::string to = directory.path() + "/rewritten";
    const auto from = IndexFile::Open(path, TextStore::kFileKind, 1, Verify::kEverything);
    REQUIRE(from.has_value());
    Sections sections = SectionsOf(*from);
    change(sections);
    REQUIRE(Publish(to, sections, nullptr, TextStore::kFileKind, 1) == ErrorCode());
    return to;
  }

  void CheckRefused(const std::string& text, Verify verify) {
    WriteText(path, text);
    Diagnostics why;
    CHECK_FALSE(TextStore::Open(path, verify, &why).has_value());
    CHECK_THAT(why.message, Catch::Contains(path));
  }
};

TEST_CASE("a file of texts that was cut or lengthened is refused, whatever is verified",
          "[text_store]") {
  Damaged file;
  for (const Verify verify : {Verify::kEverything, Verify::kHeader}) {
    for (std::size_t size = 0; size < file.whole.size(); ++size) {
      CAPTURE(size);
      file.CheckRefused(file.whole.substr(0, size), verify);
    }
    file.CheckRefused(file.whole + '\0', verify);
  }
}

TEST_CASE("a file of texts of which any bit was changed is refused", "[text_store]") {
  Damaged file;
  for (std::size_t bit = 0; bit < file.whole.size() * 8; bit += 3) {
    CAPTURE(bit);
    std::string changed = file.whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    file.CheckRefused(changed, Verify::kEverything);
  }
}

// The header comes first; the table ends the file.
TEST_CASE("the header of a file of texts is always verified, and its table", "[text_store]") {
  Damaged file;
  const std::size_t table = 8 * sizeof(SectionEntry);
  for (std::size_t at = 0; at < file.whole.size(); ++at) {
    if (at >= sizeof(FileHeader) && at < file.whole.size() - table) continue;
    CAPTURE(at);
    std::string changed = file.whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    file.CheckRefused(changed, Verify::kHeader);
  }
}

TEST_CASE("parts of texts that do not fit each other are refused", "[text_store]") {
  Damaged file;
  // Why it is refused with that change of a section, which is left out if it says so.
  const auto damage = [&](std::string_view name, const auto& change) {
    const std::string rewritten = file.Rewritten([&](Sections& sections) {
      const auto section = std::ranges::find(sections, name, &Sections::value_type::first);
      if (!change(section->second)) sections.erase(section);
    });
    Diagnostics why;
    const auto opened = TextStore::Open(rewritten, Verify::kEverything, &why);
    return opened.has_value() ? "" : why.message;
  };
  CHECK(damage("keys", [](Bytes&) { return true; }).empty());
  for (const std::string_view name : {"keys", "begins", "alphabet", "psi entries", "psi numbers",
                                      "first rows", "start entries", "start numbers"}) {
    CAPTURE(name);
    const auto misfit = Catch::Contains("its parts do not match");
    CHECK_THAT(damage(name, [](Bytes&) { return false; }), misfit);
    if (name == "psi numbers" || name == "start numbers") continue;  // Their size tells nothing.
    CHECK_THAT(damage(name,
                      [](Bytes& bytes) {
                        bytes.resize(bytes.size() / 2);
                        return true;
                      }),
               misfit);
  }
  // A byte more than there are symbols.
  CHECK_THAT(damage("alphabet",
                    [](Bytes& bytes) {
                      bytes[0] ^= std::byte{1};
                      return true;
                    }),
             Catch::Contains("its parts do not match"));
}

// A file that was made to deceive: its checksums are right, some of its bytes are not. Sanitizers
// see what is read beyond it.
TEST_CASE("a file of texts with wrong bytes is refused, or answers something", "[text_store]") {
  const std::uint64_t seed = GENERATE(range(1, 150));
  CAPTURE(seed);
  SplitMix64 random(seed);
  Damaged file;
  const std::string wrong = file.Rewritten([&](Sections& sections) {
    Bytes& bytes = sections[random.Below(sections.size())].second;
    if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<std::byte>(random.Next());
  });
  const auto opened = TextStore::Open(wrong);
  if (!opened) return;
  TextIndex& index = (*opened)->index();
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
