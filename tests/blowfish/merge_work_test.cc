#include "blowfish/store/merge_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/store/file_layers.h"
#include "blowfish/store/new_layers.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

// Records with the values given, all as the first version.
std::shared_ptr<const SuffixStore> StoreOf(const Schema& schema,
                                           const std::vector<std::string>& values) {
  LogTable table(schema);
  for (std::size_t i = 0; i < values.size(); ++i) {
    table.Apply({Operation::Kind::kPut, "key" + std::to_string(i), {1, 1}, values[i], 0});
  }
  return std::make_shared<SuffixStore>(table);
}

TEST_CASE("a merge knows from the oldest store how many symbols there will be", "[merge]") {
  // Two words of 20 bytes: a symbol each. Without an older file, a symbol for each byte.
  const std::vector<std::string> values(1000, "the same twenty byte|of two attributes xy");
  const Schema schema = Schema::Make({"a", "b"}, '|').value();
  const test::TempDirectory directory;
  MergeWork work{.directory = directory.path(),
                 .sequence = 1,
                 .schema = schema,
                 .input = {.newer = {StoreOf(schema, values)}}};
  const std::uint64_t value_bytes = 1000 * values.front().size();
  const std::uint64_t key_bytes = work.input.newer.front()->key_bytes();
  CHECK(LoadOf(work.input, work.encoding).symbols_per_byte == 1);
  CHECK(work.EstimateBytes() == 2 * key_bytes + EstimateMergeBytes(1000, value_bytes, 1));

  const auto merged = work.Run({}, nullptr);
  REQUIRE(merged.has_value());
  REQUIRE(merged->files.size() == 1);
  SuccinctStore& store = *merged->files[0].store;
  CHECK(store.texts().value_bytes() == value_bytes);
  CHECK(store.texts().symbols() == 1000 * 2);
  CHECK(LayersOf(store) == 0);
  work.input = {.files = {{merged->files[0].store, {}}}};
  const MergeLoad load = LoadOf(work.input, work.encoding);
  CHECK(load.symbols_per_byte == 2.0 / static_cast<double>(values.front().size()));
  CHECK(work.EstimateBytes() == 2 * store.keys().text_bytes() +
                                    EstimateMergeBytes(1000, value_bytes, load.symbols_per_byte));
  // One file is built at a time.
  const std::uint64_t whole = work.EstimateBytes();
  work.max_file_bytes = load.bytes() / 10;
  CHECK(work.EstimateBytes() <= whole / 10 + 100);
  CHECK(work.EstimateBytes() >= whole / 10 - 100);
}

TEST_CASE("a merge counts the keys of records and of tombstones", "[merge]") {
  const test::TempDirectory directory;
  LogTable table{Schema()};
  table.Apply({Operation::Kind::kPut, std::string(1000, 'a'), {1, 1}, "value", 0});
  table.Apply({Operation::Kind::kDelete, std::string(2000, 'b'), {1, 1}, {}, 1});
  MergeWork work{.directory = directory.path(),
                 .sequence = 1,
                 .input = {.newer = {std::make_shared<SuffixStore>(table)}}};
  const MergeLoad newer = LoadOf(work.input, work.encoding);
  CHECK(newer.key_bytes == 3000);
  CHECK(newer.value_bytes == 5);
  const auto merged = work.Run({}, nullptr);
  REQUIRE(merged.has_value());
  const MergeLoad file =
      LoadOf({.files = {{merged->files.at(0).store, {}}}, .newer = {}}, work.encoding);
  CHECK(file.records == 2);
  CHECK(file.key_bytes == 3000 + 2 + 2);  // each with its length
  CHECK(file.value_bytes == 5);
}

TEST_CASE("a merge adds as many layers as it was asked for, full", "[merge]") {
  const Schema schema = Schema::Make({"a", "b", "c"}, '|').value();
  const test::TempDirectory directory;
  const std::uint32_t asked = GENERATE(1, 3, 1000);
  const MergeWork work{
      .directory = directory.path(),
      .sequence = 1,
      .schema = schema,
      .input = {.newer = {StoreOf(schema, std::vector<std::string>(100, "x|y|z"))}},
      .layers = {.of_indexes = asked}};
  const auto merged = work.Run({}, nullptr);
  REQUIRE(merged.has_value());
  REQUIRE(merged->files.size() == 1);
  RecordIndex& index = merged->files[0].store->index();
  CHECK(LayersOf(*merged->files[0].store) == std::min<std::size_t>(asked, 4));  // there are no more
  CHECK_FALSE(index.records_at().filling());
  CHECK_FALSE(index.places_of().filling());
}

TEST_CASE("a merge leaves out the layers that its memory has no room for", "[merge]") {
  const Schema schema = Schema::Make({"a", "b", "c"}, '|').value();
  const auto store = StoreOf(schema, std::vector<std::string>(1000, "x|y|z"));
  const test::TempDirectory directory;
  MergeWork work{.directory = directory.path(),
                 .sequence = 1,
                 .schema = schema,
                 .input = {.newer = {store}},
                 .layers = {.of_indexes = 2}};
  std::vector<MergedFile> files;
  const auto layers_with = [&](std::uint64_t memory) {
    ++work.sequence;
    work.layer_memory = memory;
    auto merged = work.Run({}, nullptr);
    REQUIRE(merged.has_value());
    files = std::move(merged->files);
    std::vector<std::size_t> layers;
    for (const MergedFile& file : files) layers.push_back(LayersOf(*file.store));
    return layers;
  };
  using Layers = std::vector<std::size_t>;
  CHECK(layers_with(0) == Layers{0});
  const std::uint64_t needed = files[0].store->file_bytes() + NewLayers(files[0].store, 2).bytes();
  CHECK(layers_with(needed) == Layers{2});
  CHECK(layers_with(needed - 1) == Layers{1});
  // Half of the keys, values and attributes in each file.
  work.max_file_bytes = (LoadOf(work.input, work.encoding).bytes() + 1000 * schema.size()) / 2 + 50;
  CHECK(layers_with(UINT64_MAX) == Layers{2, 2});
  const Layers layers = layers_with(needed);
  REQUIRE(layers.size() == 2);
  CHECK(layers[0] == 2);
  CHECK(layers[1] < 2);
}

TEST_CASE("a merge adds layers of blocks and unpacks what they have room for", "[merge]") {
  const Schema schema;
  const test::TempDirectory directory;
  const std::uint32_t asked = GENERATE(0, 1, 4, 1000);
  const MergeWork work{
      .directory = directory.path(),
      .sequence = 1,
      .schema = schema,
      .input = {.newer = {StoreOf(schema, std::vector<std::string>(1000, std::string(1000, 'v')))}},
      .layers = {.of_indexes = 1000, .of_blocks = asked},
      .encoding = Encoding::kBlocks};
  const auto merged = work.Run({}, nullptr);
  REQUIRE(merged.has_value());
  REQUIRE(merged->files.size() == 1);
  const BlockLayers& layers = *merged->files[0].store->block_layers();
  CHECK(layers.layers() == std::min<std::size_t>(asked, 4));
  CHECK_FALSE(layers.filling());
  CHECK((layers.Peek(0) != nullptr) == (asked > 0));
  CHECK((layers.Peek(200) != nullptr) == (asked >= 4));
}

TEST_CASE("a merge takes memory for symbols, or before that for a sample of the values",
          "[merge]") {
  constexpr std::uint64_t kMany = std::uint64_t{400} << 20;
  CHECK(EstimateMergeBytes(1'000'000, kMany, 0.5) == kMany + 6 * kMany + 72'000'000);
  CHECK(EstimateMergeBytes(10, 1'000'000, 0) == 23'000'000 + 720);  // All of it is sampled.
  CHECK(EstimateMergeBytes(10, kMany, 0) == kMany + 22 * (std::uint64_t{16} << 20) + 720);
}

TEST_CASE("a merge that builds a text index takes memory for each byte", "[merge]") {
  CHECK(EstimateTextMergeBytes(1000, 1'000'000) == 12'072'000);
  MergeLoad load{.records = 1000, .value_bytes = 1 << 20, .symbols_per_byte = 0.2};
  const std::uint64_t memory = std::uint64_t{1} << 30;
  const std::uint64_t indexed = LargestFile(load, memory);
  load.encoding = Encoding::kText;
  CHECK(LargestFile(load, memory) < indexed / 3);
}

TEST_CASE("a file is as large as can be built in the memory of a merge", "[merge]") {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const MergeLoad load{.records = 1'000'000, .value_bytes = 100 * kMiB, .symbols_per_byte = 0.2};
  for (const std::uint64_t memory : {100 * kMiB, 500 * kMiB, 1000 * kMiB}) {
    const std::uint64_t bytes = LargestFile(load, memory);
    const std::uint64_t records = bytes / 100;
    CAPTURE(memory, bytes);
    CHECK(EstimateMergeBytes(records, bytes, 0.2) <= memory + 10 * kMiB);
    CHECK(EstimateMergeBytes(records, bytes + 8 * kMiB, 0.2) > memory - 10 * kMiB);
  }
  CHECK(LargestFile(load, 0) == 4 * kMiB);
  CHECK(LargestFile(load, UINT64_MAX) == kMaxValueBytes);
}

}  // namespace
}  // namespace stout::blowfish
