#include "blowfish/store/layer_file.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "blowfish/file/checksum.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using test::TempDirectory;

std::string LayersPath(const TempDirectory& directory) {
  return directory.path() + "/" + kLayersName;
}

// Returns the content read from a file with these bytes.
std::size_t ReadBack(const TempDirectory& directory, const std::string& bytes) {
  std::ofstream(LayersPath(directory), std::ios::binary) << bytes;
  return ReadLayers(directory.path());
}

std::string WithItsChecksum(const std::string& text) {
  return text + fmt::format("checksum {:016x}\n", Checksum(std::as_bytes(std::span(text))));
}

TEST_CASE("a number of layers is read as it was written last, and 0 before", "[layers]") {
  const TempDirectory directory;
  CHECK(ReadLayers(directory.path()) == 0);
  for (const std::size_t layers : {12, 3, 0, 7}) {
    REQUIRE(WriteLayers(directory.path(), layers) == ErrorCode());
    CHECK(ReadLayers(directory.path()) == layers);
  }
  Diagnostics why;
  CHECK(WriteLayers(directory.path() + "/missing", 1, &why) == Errc::kBadUrl);
  CHECK(why.message.find("missing") != std::string::npos);
}

TEST_CASE("a number of layers that a full disk does not take leaves the one before", "[layers]") {
  const TempDirectory directory;
  REQUIRE(WriteLayers(directory.path(), 12) == ErrorCode());
  {
    const stout::test::FileSizeLimit full(0);
    CHECK(WriteLayers(directory.path(), 3));
  }
  CHECK(ReadLayers(directory.path()) == 12);
}

TEST_CASE("a number of layers that cannot be read is 0", "[layers]") {
  const TempDirectory directory;
  REQUIRE(std::filesystem::create_directory(LayersPath(directory)));
  CHECK(ReadLayers(directory.path()) == 0);
}

TEST_CASE("each flipped bit and each cut of a number of layers makes it 0", "[layers]") {
  const TempDirectory directory;
  REQUIRE(WriteLayers(directory.path(), 7) == ErrorCode());
  std::ifstream file(LayersPath(directory), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(ReadBack(directory, text) == 7);
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    CHECK(ReadBack(directory, text.substr(0, at)) == 0);
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = text;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      CHECK(ReadBack(directory, bytes) == 0);
    }
  }
}

TEST_CASE("a number of layers of another version is read if it has the known lines", "[layers]") {
  const TempDirectory directory;
  CHECK(ReadBack(directory, WithItsChecksum("layers 5\nfilled 2\n")) == 5);
  CHECK(ReadBack(directory, WithItsChecksum("layers 5 or 6\n")) == 0);
  CHECK(ReadBack(directory, WithItsChecksum("layers -1\n")) == 0);
  CHECK(ReadBack(directory, WithItsChecksum("steps 5\n")) == 0);
  CHECK(ReadBack(directory, WithItsChecksum("")) == 0);
}

}  // namespace
}  // namespace stout::blowfish
