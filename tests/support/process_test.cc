#include "tests/support/process.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

using Catch::Contains;

TEST_CASE("a program is run to its end, and what it writes is known") {
  CHECK(RunToEnd({"echo", "a b", "c"}) == "a b c\n");
  CHECK_THROWS_WITH(RunToEnd({"sh", "-c", "echo why; exit 3"}), Contains("sh failed: why"));
  CHECK_THROWS_AS(RunToEnd({"there-is-no-such-program"}), std::runtime_error);
  CHECK_THROWS_WITH(RunToEnd({"true"}, "nobody-knows-him"), Contains("nobody-knows-him"));
}

TEST_CASE("a program can neither write to files nor is it ended while its disk is full") {
  const TempDirectory directory;
  std::vector<std::string> command = kWithoutFileSignal;
  const std::string file = directory.path() + "/file";
  const std::string script =
      "while sleep 0.01; do if echo x >" + file + "; then echo y >" + file + "2; fi; done 2>&-";
  command.insert(command.end(), {"sh", "-c", script});
  Process writer(command, directory.path() + "/log");
  const auto written = [&](const std::string& name) {
    return std::filesystem::exists(name) && std::filesystem::file_size(name) > 0;
  };
  CHECK(Eventually([&] { return written(file + "2"); }));
  writer.FillDisk(true);
  CHECK(Eventually([&] { return !written(file); }));
  CHECK(writer.Running());
  writer.FillDisk(false);
  CHECK(Eventually([&] { return written(file); }));
}

}  // namespace
}  // namespace stout::test
