// Sizes as text: in options of programs and in URLs of stores.

#include "stout/adapters/bytes.h"

#include <cstdint>
#include <limits>

#include "tests/support/catch.h"

namespace stout {
namespace {

constexpr std::uint64_t kKi = 1024;

TEST_CASE("a size has any spelling of a unit, and every unit is a power of 1024", "[bytes]") {
  CHECK(ParseBytes("4096") == 4096);
  CHECK(ParseBytes("7b") == 7);
  for (const char* text : {"64k", "64K", "64kb", "64KB", "64ki", "64KiB", "64 kb"}) {
    CAPTURE(text);
    CHECK(ParseBytes(text) == 64 * kKi);
  }
  CHECK(ParseBytes("8mb") == 8 * kKi * kKi);
  CHECK(ParseBytes("1GiB") == kKi * kKi * kKi);
  CHECK(ParseBytes("2T") == 2 * kKi * kKi * kKi * kKi);
  CHECK(ParseBytes("15EiB") == std::uint64_t{15} << 60);
  for (const char* text : {"", "k", "-1", "1.5MiB", "1 x", "1kk", "1ib", "1i", "64KiBs", "0x10",
                           "16EiB", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseBytes(text));
  }
}

TEST_CASE("a size is shown in the largest unit that divides it, and read back", "[bytes]") {
  CHECK(FormatBytes(0) == "0");
  CHECK(FormatBytes(1000) == "1000");
  CHECK(FormatBytes(64 * kKi) == "64KiB");
  CHECK(FormatBytes(1025 * kKi) == "1025KiB");
  CHECK(FormatBytes(256 * kKi * kKi) == "256MiB");
  const auto bytes =
      GENERATE(take(50, random(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max())));
  CAPTURE(bytes);
  CHECK(ParseBytes(FormatBytes(bytes)) == bytes);
}

}  // namespace
}  // namespace stout
