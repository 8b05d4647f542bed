// Which values are kept in blocks.

#include "blowfish/store/encoding_choice.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/block_texts.h"
#include "blowfish/store/succinct_store_writer.h"
#include "random_values.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

Encoding Choose(const Schema& schema, const std::vector<std::string>& values) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  return ChooseEncoding(schema, views, TrainDictionary(views));
}

std::vector<std::string> RandomBytesValues(std::size_t count, std::size_t size) {
  SplitMix64 random(1);
  std::vector<std::string> values(count, std::string(size, '\0'));
  for (std::string& value : values) {
    for (char& byte : value) byte = static_cast<char>(random.Below(256));
  }
  return values;
}

// "RAIL|17|final ideas"
std::vector<std::string> Rows(std::size_t count) {
  SplitMix64 random(1);
  std::vector<std::string> values(count);
  for (std::string& value : values) {
    value = RandomText(random, 0) + '|' + RandomText(random, 1) + '|' + RandomText(random, 2);
  }
  return values;
}

const Schema& Columns() {
  static const Schema schema = Schema::Make({"mode", "number", "text"}, '|').value();
  return schema;
}

TEST_CASE("values with declared attributes are indexed if that makes them smaller",
          "[encoding_choice]") {
  CHECK(Choose(Columns(), Rows(10'000)) == Encoding::kIndex);
  // A single one, too, whose index is larger than its values.
  const Schema colour = Schema::Make({"colour"}, '|').value();
  CHECK(Choose(colour, std::vector<std::string>(100'000, "red")) == Encoding::kIndex);
  CHECK(Choose(colour, std::vector<std::string>(100'000, "r")) == Encoding::kIndex);
}

TEST_CASE("values that an index makes larger are in blocks", "[encoding_choice]") {
  const std::vector<std::string> values = RandomBytesValues(2000, 100);
  CHECK(Choose(Schema(), values) == Encoding::kBlocks);
  CHECK(Choose(Columns(), values) == Encoding::kBlocks);
}

TEST_CASE("long texts are in blocks, because blocks are read faster", "[encoding_choice]") {
  SplitMix64 random(1);
  std::vector<std::string> values(20);
  for (std::string& value : values) {
    while (value.size() < 50'000) value += RandomText(random, 2) + ". ";
  }
  CHECK(Choose(Schema(), values) == Encoding::kBlocks);
}

TEST_CASE("few values are indexed", "[encoding_choice]") {
  CHECK(Choose(Schema(), RandomBytesValues(10, 100)) == Encoding::kIndex);
  CHECK(Choose(Schema(), {}) == Encoding::kIndex);
}

TEST_CASE("a file of random values has at most 1.02 times their size", "[encoding_choice]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  SuccinctStoreWriter writer{Schema()};
  const std::vector<std::string> values = RandomBytesValues(20'000, 100);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string key = "key" + std::to_string(1'000'000 + i);
    writer.Append({key, {1, i}, values[i]});
    bytes += key.size() + values[i].size();
  }
  REQUIRE(writer.Finish(path) == ErrorCode());
  CHECK(static_cast<double>(std::filesystem::file_size(path)) < 1.02 * static_cast<double>(bytes));
}

}  // namespace
}  // namespace stout::blowfish
