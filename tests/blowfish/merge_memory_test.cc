#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "blowfish/store/merge.h"
#include "blowfish/store/succinct_store_writer.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

TEST_CASE("a merge of files with large values holds a few of them at a time") {
  constexpr std::size_t kValueBytes = std::size_t{1} << 18;
  const stout::test::TempDirectory directory;
  SuccinctStoreWriter writer({}, kMaxValueBytes, Encoding::kIndex);
  LogTable deletes{Schema()};  // so that the new file takes no memory
  for (int i = 10; i < 26; ++i) {
    const std::string key = "key" + std::to_string(i);
    std::string value;
    while (value.size() < kValueBytes) value += "word ";
    writer.Append({key, {1, 1}, value});
    deletes.Apply({Operation::Kind::kDelete, key, {1, 2}, "", 1});
  }
  REQUIRE_FALSE(writer.Finish(directory.path() + "/file"));
  auto file = SuccinctStore::Open(directory.path() + "/file", Verify::kEverything);
  REQUIRE(file.has_value());
  REQUIRE(((*file)->blocks() == nullptr && (*file)->text() == nullptr));
  const MergeInput input{.files = {{std::move(*file), {}}},
                         .newer = {std::make_shared<SuffixStore>(deletes)}};
  ErrorCode failed;
  const auto path = [&] { return directory.path() + "/new"; };
  const std::size_t bytes =
      stout::test::MostBytesOf([&] { failed = Merge(input, Schema(), path, {}); });
  CHECK_FALSE(failed);
  // Four values, and the buffers of their walks, which double.
  CHECK(bytes < 14 * kValueBytes);
}

}  // namespace
}  // namespace stout::blowfish
