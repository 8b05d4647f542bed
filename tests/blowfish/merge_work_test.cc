#include "merge_work.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  // Two words of 20 bytes: a symbol each, where nothing older tells a byte each.
  const std::vector<std::string> values(1000, "the same twenty byte|of two attributes xy");
  const Schema schema = Schema::Make({"a", "b"}, '|').value();
  const test::TempDirectory directory;
  ReclaimDomain domain;
  MergeWork work{.directory = directory.path(),
                 .name = "first",
                 .schema = schema,
                 .newer = {StoreOf(schema, values)},
                 .domain = &domain};
  const std::uint64_t text = work.newer.front()->text_bytes();
  CHECK(work.EstimateBytes() == text + 12 * text + 72 * 1000);

  const auto merged = work.Run({}, nullptr);
  REQUIRE(merged.has_value());
  CHECK(merged->store->value_bytes() == 1000 * values.front().size());
  CHECK(merged->store->symbols() == 1000 * 2);
  work.oldest = merged->store;
  work.newer.clear();
  CHECK(work.EstimateBytes() == 1000 * values.front().size() + 12 * 2000 + 72 * 1000);
}

}  // namespace
}  // namespace stout::blowfish
