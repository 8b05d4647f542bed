// An index of texts against the texts themselves.

#include "blowfish/index/text_index.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/text_index_builder.h"
#include "change_layers.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

// Few letters, or all bytes; empty records too.
std::vector<std::string> RandomRecords(SplitMix64& random) {
  std::vector<std::string> texts(random.Below(60));
  const std::uint64_t letters = random.Below(3) == 0 ? 256 : 1 + random.Below(4);
  std::uint64_t longest = random.Below(4) == 0 ? 200 : 10;
  if (random.Below(8) == 0) {  // Some are read by several walks.
    longest = 10'000;
    texts.resize(texts.size() / 20);
  }
  for (std::string& text : texts) {
    for (std::uint64_t i = random.Below(longest + 1); i > 0; --i) {
      text += static_cast<char>(random.Below(letters) + (letters < 256 ? 'a' : 0));
    }
  }
  return texts;
}

TextIndexParts Build(const std::vector<std::string>& texts) {
  std::uint64_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  TextIndexBuilder builder(bytes, texts.size());
  for (const std::string& text : texts) builder.Append(text);
  CHECK(builder.records() == texts.size());
  return builder.Finish();
}

class IndexedTexts {
 public:
  explicit IndexedTexts(std::vector<std::string> texts)
      : texts_(std::move(texts)), parts_(Build(texts_)), index_(parts_.View()) {}

  [[nodiscard]] TextIndex& index() { return index_; }

  void CheckGets() {
    std::vector<std::uint32_t> records(texts_.size());
    std::iota(records.begin(), records.end(), 0);
    std::vector<std::string> read(texts_.size());
    index_.GetAll(records, [&](std::size_t i, std::string_view text) { read[i] = text; });
    CHECK(read == texts_);
    for (const std::uint32_t r : records) {
      CHECK(index_.SizeOf(r) == texts_[r].size());
      TextBuffer text;
      text.Append('<');
      index_.Get(r, text);
      CHECK(text.view() == "<" + texts_[r]);
    }
  }

  void CheckExtracts(SplitMix64& random) {
    for (int i = 0; i < 40 && !texts_.empty(); ++i) {
      const auto record = static_cast<std::uint32_t>(random.Below(texts_.size()));
      const std::string& text = texts_[record];
      const std::uint64_t offset = random.Below(text.size() + 2);
      const std::uint64_t size = random.Below(20);
      TextBuffer extracted;
      index_.Extract(record, offset, size, extracted);
      CHECK(extracted.view() == (offset < text.size() ? text.substr(offset, size) : ""));
    }
  }

  void CheckSearches(SplitMix64& random) {
    for (int i = 0; i < 15; ++i) {
      std::string wanted = "b";
      if (!texts_.empty()) {
        const std::string& text = texts_[random.Below(texts_.size())];
        wanted = text.substr(random.Below(text.size() + 1), random.Below(5));
      }
      if (random.Below(4) == 0) wanted += static_cast<char>('a' + random.Below(4));
      CAPTURE(wanted);
      Places found;
      const RowRange rows = index_.Search(wanted);
      index_.Locate(rows, [&](std::uint32_t record, std::uint64_t offset) {
        found.emplace(record, offset);
        return true;
      });
      CHECK(found.size() == rows.size());
      CHECK(found == Occurrences(wanted));
      if (!wanted.empty()) CheckSearchAtEnd(wanted);
    }
  }

 private:
  using Places = std::set<std::pair<std::uint32_t, std::uint64_t>>;

  void CheckSearchAtEnd(const std::string& wanted) {
    std::set<std::uint32_t> found, ending;
    const RowRange rows = index_.SearchAtEnd(wanted);
    index_.Locate(rows, [&](std::uint32_t record, std::uint64_t offset) {
      CHECK(offset + wanted.size() == texts_[record].size());
      found.insert(record);
      return true;
    });
    for (std::uint32_t record = 0; record < texts_.size(); ++record) {
      if (texts_[record].ends_with(wanted)) ending.insert(record);
    }
    CHECK(rows.size() == found.size());
    CHECK(found == ending);
  }

  Places Occurrences(const std::string& wanted) const {
    Places places;
    for (std::uint32_t record = 0; record < texts_.size(); ++record) {
      for (std::size_t at = 0; at < texts_[record].size(); ++at) {
        if (texts_[record].compare(at, wanted.size(), wanted) == 0) places.emplace(record, at);
      }
    }
    return places;
  }

  std::vector<std::string> texts_;
  TextIndexParts parts_;
  TextIndex index_;
};

TEST_CASE("an index of texts gives back texts, parts of them and what is searched",
          "[text_index][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 1000) / 100;
  const auto seed = GENERATE_COPY(range(std::uint64_t{0}, seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  IndexedTexts indexed(RandomRecords(random));
  indexed.CheckGets();
  indexed.CheckExtracts(random);
  indexed.CheckSearches(random);
}

TEST_CASE("layers of a text change no answer", "[text_index][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 500) / 100;
  const auto seed = GENERATE_COPY(range(std::uint64_t{200}, 200 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  IndexedTexts indexed(RandomRecords(random));
  TextIndex& index = indexed.index();
  for (int step = 0; step < 10; ++step) {
    CAPTURE(step);
    ChangeLayers(random, index, random.Below(2) ? index.positions_at() : index.rows_of());
    indexed.CheckSearches(random);
    indexed.CheckExtracts(random);
    indexed.CheckGets();
  }
}

TEST_CASE("an alphabet of bytes is given back by what it is encoded to", "[text_index]") {
  SplitMix64 random(1);
  for (int some = 0; some <= 256; some += 8) {
    std::array<bool, 256> occurs;
    for (bool& byte : occurs) byte = random.Below(256) < static_cast<std::uint64_t>(some);
    const ByteAlphabet alphabet(occurs);
    const auto encoded = alphabet.Encode();
    const Result<ByteAlphabet> opened = ByteAlphabet::Open(encoded);
    REQUIRE(opened.has_value());
    CHECK(opened->symbols() == alphabet.symbols());
    for (int byte = 0; byte < 256; ++byte) {
      const auto symbol = opened->Find(static_cast<char>(byte));
      CHECK(symbol.has_value() == occurs[byte]);
      CHECK(symbol == alphabet.Find(static_cast<char>(byte)));
      if (symbol) CHECK(opened->Print(*symbol) == static_cast<char>(byte));
    }
    CHECK_FALSE(ByteAlphabet::Open(std::span(encoded).first(31)).has_value());
  }
}

TEST_CASE("reading every text fills all layers", "[text_index]") {
  SplitMix64 random(3);
  IndexedTexts indexed(std::vector<std::string>(50, "a text, the same in all records"));
  TextIndex& index = indexed.index();
  for (LayeredSampledArray* array : {&index.positions_at(), &index.rows_of()}) {
    while (array->Add()) {
    }
  }
  index.FillLayers(0, index.records());
  for (LayeredSampledArray* array : {&index.positions_at(), &index.rows_of()}) {
    for (const LayerInfo& layer : array->Layers()) CHECK(layer.state != LayerState::kFilling);
  }
  indexed.CheckSearches(random);
  indexed.CheckExtracts(random);
}

TEST_CASE("an index of texts that is to stop is not built", "[text_index]") {
  TextIndexBuilder builder(9, 1);
  builder.Append("some text");
  std::stop_source source;
  source.request_stop();
  CHECK(builder.Finish(source.get_token()).index.psi.rows == 0);
}

}  // namespace
}  // namespace stout::blowfish
