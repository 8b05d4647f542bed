#include "blowfish/store/shard_manifest.h"

#include <filesystem>
#include <fstream>

#include "blowfish/file/index_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

TEST_CASE("a manifest is read as it was written last", "[manifest]") {
  const test::TempDirectory directory;
  Diagnostics why;
  CHECK(ReadManifest(directory.path(), &why).error() == Errc::kBadUrl);
  CHECK(why.message.find(directory.path()) != std::string::npos);

  ShardManifest manifest{.schema = Schema::Make({"a", "b"}, '|').value(), .shard = 3};
  REQUIRE(WriteManifest(directory.path(), manifest) == ErrorCode());
  CHECK(ReadManifest(directory.path()).value() == manifest);

  manifest.first_sequence = 9;
  for (const char* name : {"7.records", "8.records", "8-1.records"}) {
    manifest.files.emplace_back(name);
    REQUIRE(WriteManifest(directory.path(), manifest) == ErrorCode());
    CHECK(ReadManifest(directory.path()).value() == manifest);
  }
}

TEST_CASE("a manifest keeps whether the shard has a text index", "[manifest]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/" + kManifestName;
  for (const bool text_index : {true, false}) {
    const ShardManifest manifest{.text_index = text_index, .files = {"7.records", "8.records"}};
    REQUIRE(WriteManifest(directory.path(), manifest) == ErrorCode());
    CHECK(ReadManifest(directory.path()).value() == manifest);
    // Programs that know no text index refuse it.
    CHECK(IndexFile::Open(path, "shard", 2, Verify::kEverything).has_value() == !text_index);
  }
}

TEST_CASE("a manifest that was cut is refused", "[manifest]") {
  const test::TempDirectory directory;
  REQUIRE(WriteManifest(directory.path(), {.files = {"1.records"}}) == ErrorCode());
  const std::string path = directory.path() + "/" + kManifestName;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(ReadManifest(directory.path()).error() == Errc::kCorrupt);
}

}  // namespace
}  // namespace stout::blowfish
