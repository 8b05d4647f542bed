#include "stout/core/parse_number.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/support/catch.h"

namespace stout::internal {
namespace {

TEST_CASE("the whole text is a number", "[parse_number]") {
  CHECK(ParseNumber<std::uint64_t>("18446744073709551615") == UINT64_MAX);
  CHECK(ParseNumber<std::uint16_t>("0007") == 7);
  CHECK(ParseNumber<int>("-12") == -12);
  CHECK(ParseNumber<double>("-1.5e3") == -1500.0);
  CHECK(ParseNumber<int>(std::string_view("123/4").substr(0, 2)) == 12);
}

TEST_CASE("a text with anything else is no number", "[parse_number]") {
  for (const std::string_view text : {"", "-", "+1", " 1", "1 ", "1x", "x1", "0x10", "1.5"}) {
    CAPTURE(text);
    CHECK(ParseNumber<int>(text) == std::nullopt);
  }
  CHECK(ParseNumber<int>(std::string_view()) == std::nullopt);
  CHECK(ParseNumber<int>(std::string_view("1\0", 2)) == std::nullopt);
  CHECK(ParseNumber<double>("1.5s") == std::nullopt);
  CHECK(ParseNumber<double>("") == std::nullopt);
}

TEST_CASE("a number that the type cannot hold is none", "[parse_number]") {
  CHECK(ParseNumber<std::uint16_t>("65535") == 65535);
  CHECK(ParseNumber<std::uint16_t>("65536") == std::nullopt);
  CHECK(ParseNumber<std::uint16_t>("-1") == std::nullopt);
  CHECK(ParseNumber<std::uint64_t>("18446744073709551616") == std::nullopt);
  CHECK(ParseNumber<double>("1e999") == std::nullopt);
}

}  // namespace
}  // namespace stout::internal
