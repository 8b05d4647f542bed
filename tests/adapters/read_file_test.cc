#include "stout/adapters/read_file.h"

#include <cerrno>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

TEST_CASE("a file is read whole", "[common]") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/file";
  const std::string text =
      GENERATE(std::string(), std::string("a\0b", 3), std::string(200'000, 'x'));
  std::ofstream(path, std::ios::binary) << text;
  CHECK(ReadFile(path).value() == text);
}

TEST_CASE("a file that cannot be read gives the error of the system", "[common]") {
  const auto why = [](const std::string& path) { return ReadFile(path).error().value(); };
  CHECK(why("/no/such/file") == ENOENT);
  CHECK(why("/tmp") == EISDIR);
  CHECK(why("/proc/self/mem") == EIO);  // opens, and has nothing at address 0
}

}  // namespace
}  // namespace stout::test
