// Values in blocks against the values.

#include "blowfish/index/block_texts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damaged.h"
#include "padded.h"
#include "random_values.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// The blocks of values, in memory.
struct Packed {
  std::string dictionary;
  std::vector<std::byte> blocks, block_bounds, record_bounds, value_bounds;  // padded

  [[nodiscard]] Result<BlockTexts> Open() const {
    BlockTexts::Parts parts{.dictionary = std::as_bytes(std::span(dictionary)),
                            .blocks = std::span(blocks).first(blocks.size() - kBitPadding)};
    const auto open = [](const std::vector<std::byte>& bytes, EliasFano& bounds) {
      auto opened = OpenPadded<EliasFano>(bytes);
      if (opened) bounds = *opened;
      return opened.has_value();
    };
    if (!open(block_bounds, parts.block_bounds) || !open(record_bounds, parts.record_bounds) ||
        !open(value_bounds, parts.value_bounds)) {
      return Errc::kCorrupt;
    }
    return BlockTexts::Open(parts);
  }
};

Packed Pack(const std::vector<std::string>& values) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  Packed packed{.dictionary = TrainDictionary(views)};
  std::vector<std::byte> blocks;
  BlockTables tables = WriteBlocks(views, packed.dictionary, [&](std::span<const std::byte> block) {
    blocks.insert(blocks.end(), block.begin(), block.end());
  });
  packed.blocks = Padded(std::move(blocks));
  packed.block_bounds = Padded(std::move(tables.block_bounds));
  packed.record_bounds = Padded(std::move(tables.record_bounds));
  packed.value_bounds = Padded(std::move(tables.value_bounds));
  return packed;
}

std::uint64_t BytesOf(const Packed& packed) {
  return packed.dictionary.size() + packed.blocks.size() + packed.block_bounds.size() +
         packed.record_bounds.size() + packed.value_bounds.size();
}

std::string RandomBytes(SplitMix64& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
  return bytes;
}

std::string Words(SplitMix64& random, std::size_t size) {
  std::string text;
  while (text.size() < size) text += RandomText(random, 2) + ' ';
  text.resize(size);
  return text;
}

// Each value by itself in random order, in order, and many at once.
void CheckValues(const BlockTexts& texts, const std::vector<std::string>& values,
                 SplitMix64& random) {
  REQUIRE(texts.records() == values.size());
  BlockTexts::Reader reader(texts);
  std::vector<std::uint32_t> records(values.size());
  std::iota(records.begin(), records.end(), 0);
  for (int turn = 0; turn < 2; ++turn) {
    bool same = true;
    for (const std::uint32_t record : records) same &= reader.Get(record) == values[record];
    CHECK(same);
    std::vector<std::string> read(values.size());
    reader.GetAll(records, [&](std::size_t i, std::string_view value) { read[i] += value; });
    for (std::size_t i = 0; i < read.size(); ++i) same &= read[i] == values[records[i]];
    CHECK(same);
    for (std::uint32_t& record : records) {  // Next, any of them, some of them twice.
      record = static_cast<std::uint32_t>(random.Below(values.size()));
    }
  }
}

// Returns values of less than 2^most_bits bytes; one of `one_in` does not compress.
std::vector<std::string> RandomTexts(SplitMix64& random, std::uint64_t count,
                                     std::uint64_t most_bits, std::uint64_t one_in) {
  const std::size_t largest = std::size_t{1} << random.Below(most_bits);
  std::vector<std::string> values(count);
  for (std::string& value : values) {
    const std::size_t size = random.Below(4) == 0 ? 0 : random.Below(largest);
    value = random.Below(one_in) == 0 ? RandomBytes(random, size) : Words(random, size);
  }
  return values;
}

TEST_CASE("blocks give back values of every size and kind", "[block_texts]") {
  const std::uint64_t seed = GENERATE(range(1, 40));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::vector<std::string> values = RandomTexts(random, random.Below(600), 16, 3);
  const Packed packed = Pack(values);
  const auto texts = packed.Open();
  REQUIRE(texts.has_value());
  std::uint64_t bytes = 0;
  for (const std::string& value : values) bytes += value.size();
  CHECK(texts->value_bytes() == bytes);
  CheckValues(*texts, values, random);
}

// Goal: readers give the same values with layers, which come and go meanwhile, as without.
TEST_CASE("values are read right while layers of their blocks come and go", "[block_texts]") {
  const std::uint64_t seed = GENERATE(range(1, 40));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::vector<std::string> values = RandomTexts(random, 1 + random.Below(300), 18, 5);
  const Packed packed = Pack(values);
  const BlockTexts texts = packed.Open().value();
  BlockLayers layers(texts.layer_shape());
  BlockTexts::Reader reader(texts, layers);
  BlockTexts::Reader scan(texts, &layers);
  const auto any = [&] { return static_cast<std::uint32_t>(random.Below(values.size())); };
  bool same = true;
  std::uint32_t scanned = 0;
  for (int i = 0; i < 1000; ++i) {
    switch (random.Below(10)) {
      case 0:
        layers.Add();
        break;
      case 1:
        layers.Remove();
        break;
      case 2: {
        const std::uint32_t first = any();
        reader.FillLayers(
            first, first + static_cast<std::uint32_t>(random.Below(values.size() - first + 1)));
        break;
      }
      case 3: {
        const std::vector<std::uint32_t> records = {any(), any(), any()};
        reader.GetAll(records, [&](std::size_t at, std::string_view value) {
          same &= value == values[records[at]];
        });
        break;
      }
      case 4:
      case 5:
        scanned = (scanned + 1) % values.size();
        same &= scan.Get(scanned) == values[scanned];
        break;
      default: {
        const std::uint32_t record = any();
        same &= reader.Get(record) == values[record];
      }
    }
  }
  CHECK(same);
}

TEST_CASE("a scan of blocks displaces none from the layers", "[block_texts]") {
  SplitMix64 random(1);
  std::vector<std::string> values(1000);
  for (std::string& value : values) value = Words(random, 1000);
  const Packed packed = Pack(values);
  const BlockTexts texts = packed.Open().value();
  BlockLayers layers(texts.layer_shape());
  layers.Add();
  BlockTexts::Reader reader(texts, layers);
  reader.FillLayers(0, texts.records());
  std::vector<std::uint64_t> before;
  const auto blocks_here = [&] {
    std::vector<std::uint64_t> blocks;
    for (std::uint64_t block = 0; block < texts.layer_shape().blocks; ++block) {
      if (layers.Peek(block) != nullptr) blocks.push_back(block);
    }
    return blocks;
  };
  before = blocks_here();
  REQUIRE(before.size() > 10);
  BlockTexts::Reader scan(texts, &layers);
  for (std::uint32_t record = 0; record < texts.records(); ++record)
    CHECK(scan.Get(record) == values[record]);
  CHECK(blocks_here() == before);
}

TEST_CASE("blocks have values that end exactly at a block's border", "[block_texts]") {
  SplitMix64 random(1);
  constexpr std::size_t kBlock = BlockTexts::kBlockBytes;
  const auto values = GENERATE(
      std::vector<std::size_t>{}, std::vector<std::size_t>{0}, std::vector<std::size_t>{kBlock},
      std::vector<std::size_t>{kBlock / 2, kBlock / 2, 0, 0, 1},
      std::vector<std::size_t>{kBlock + 1, 0, kBlock - 1, 1, kBlock, 0},
      std::vector<std::size_t>{1, kBlock, 1}, std::vector<std::size_t>{0, 10 * kBlock, 0},
      std::vector<std::size_t>{20'000'000});
  std::vector<std::string> texts;
  for (const std::size_t size : values) texts.push_back(Words(random, size));
  const Packed packed = Pack(texts);
  const auto opened = packed.Open();
  REQUIRE(opened.has_value());
  CheckValues(*opened, texts, random);
}

TEST_CASE("random bytes take at most 2 % more than they are", "[block_texts]") {
  SplitMix64 random(1);
  const std::size_t size = GENERATE(60, 100, 1000, 5000, 100'000);
  CAPTURE(size);
  std::vector<std::string> values(2'000'000 / size);
  for (std::string& value : values) value = RandomBytes(random, size);
  const Packed packed = Pack(values);
  CHECK(packed.dictionary.empty());
  CHECK(static_cast<double>(BytesOf(packed)) < 1.02 * static_cast<double>(size * values.size()));
  CheckValues(*packed.Open(), values, random);
}

TEST_CASE("small values share a dictionary", "[block_texts]") {
  SplitMix64 random(1);
  std::vector<std::string> values(20'000);
  for (std::string& value : values) value = Words(random, 100);
  const Packed packed = Pack(values);
  CHECK(packed.dictionary.size() > 1000);
  CHECK(BytesOf(packed) < 100 * values.size() / 3);
  CheckValues(*packed.Open(), values, random);
}

TEST_CASE("runs of a sample are spread evenly and do not overlap", "[block_texts]") {
  const std::vector<std::string_view> values(100, "ten bytes.");
  const std::span<const std::string_view> all(values);
  const auto runs = SpreadRuns(all, 30, 4);
  REQUIRE(runs.size() == 4);
  for (std::size_t run = 0; run < 4; ++run) {
    CHECK(runs[run].size() == 3);
    CHECK(runs[run].data() == all.data() + 25 * run);
  }
  std::size_t values_of_all = 0;
  for (const auto run : SpreadRuns(all, 1000, 3)) values_of_all += run.size();
  CHECK(values_of_all == values.size());
  CHECK(SpreadRuns({}, 30, 4).empty());
}

// Goal: whatever the bytes are, they are refused, or each read gives some value of the size that
// the bounds say. The sanitizer sees reads beyond.
TEST_CASE("damaged blocks are refused or give some values", "[block_texts]") {
  SplitMix64 random(1);
  std::vector<std::string> values;
  for (int i = 0; i < 30; ++i) values.push_back(Words(random, random.Below(1500)));
  values.push_back(RandomBytes(random, 3000));
  const Packed packed = Pack(values);
  std::size_t opened = 0;
  std::size_t different = 0;
  const auto read_all = [&](const Packed& damaged) {
    const auto texts = damaged.Open();
    if (!texts) return;
    ++opened;
    BlockTexts::Reader reader(*texts);
    for (std::uint32_t record = 0; record < texts->records(); ++record) {
      different += record < values.size() && reader.Get(record) != values[record];
    }
  };
  for (const auto part : {&Packed::block_bounds, &Packed::record_bounds, &Packed::value_bounds}) {
    const auto visit = [&](const std::vector<std::byte>& bytes) {
      Packed damaged = packed;
      damaged.*part = bytes;
      read_all(damaged);
    };
    FlipEachBit(packed.*part, visit);
    CutAtEachLength(packed.*part, visit);
  }
  Packed damaged = packed;
  for (int i = 0; i < 3000; ++i) {
    std::byte& byte = damaged.blocks[random.Below(damaged.blocks.size() - kBitPadding)];
    const std::byte was = byte;
    byte ^= std::byte{1} << random.Below(8);
    read_all(damaged);
    byte = was;
  }
  CHECK(opened > 3000);
  CHECK(different > 3000);
}

TEST_CASE("a damaged dictionary is refused or gives some values", "[block_texts]") {
  SplitMix64 random(1);
  std::vector<std::string> values(3'000);
  for (std::string& value : values) value = Words(random, 100);
  const Packed packed = Pack(values);
  REQUIRE_FALSE(packed.dictionary.empty());
  Packed damaged = packed;
  for (std::size_t at = 0; at < packed.dictionary.size(); at += 3) {
    damaged.dictionary[at] ^= static_cast<char>(1 << random.Below(8));
    if (const auto texts = damaged.Open()) {
      BlockTexts::Reader reader(*texts);
      for (std::uint32_t record = 0; record < texts->records(); record += 500) {
        CHECK(reader.Get(record).size() == values[record].size());
      }
    }
    damaged.dictionary[at] = packed.dictionary[at];
  }
}

}  // namespace
}  // namespace stout::blowfish
