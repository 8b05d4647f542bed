#include "program/progress_line.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "tests/support/catch.h"

namespace stout::program {
namespace {

TEST_CASE("where there is no terminal, steps are lines and all else is nothing", "[program]") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    const ProgressLine progress("some-bench", file);
    progress.Step("building zstd");
    progress.Show("1 %");
    progress.Show("2 %");
    progress.Step("measuring get");
  }
  std::rewind(file);
  std::array<char, 1000> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  CHECK(std::string_view(text.data(), size) ==
        "some-bench: building zstd\nsome-bench: measuring get\n");
  std::fclose(file);
}

}  // namespace
}  // namespace stout::program
