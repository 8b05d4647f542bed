#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

TEST_CASE("durations are read with their unit", "[duration]") {
  CHECK(ParseDuration("20ms") == 20ms);
  CHECK(ParseDuration("250us") == 250us);
  CHECK(ParseDuration("10ns") == 10ns);
  CHECK(ParseDuration("1s") == 1s);
  CHECK(ParseDuration("1.5s") == 1500ms);
  CHECK(ParseDuration("0.25ms") == 250us);
  CHECK(ParseDuration("0s") == 0s);
  CHECK(ParseDuration("10min") == 10min);
  CHECK(ParseDuration("1.5h") == 90min);
}

TEST_CASE("what is not a duration is not read", "[duration]") {
  const std::string text =
      GENERATE("", "20", "ms", "20 ms", " 20ms", "20ms ", "20m", "20mins", "h", "-20ms", "+20ms",
               "2,5ms", "1.2.3s", "0x10ms", "nans", "infs", "20MS", "20msms", ".", ".s");
  CAPTURE(text);
  CHECK(ParseDuration(text) == std::nullopt);
}

TEST_CASE("durations beyond a century are refused, not wrapped", "[duration]") {
  CHECK(ParseDuration("3000000000s") == 3'000'000'000s);  // 95 years
  CHECK(ParseDuration("3200000000s") == std::nullopt);    // 101 years
  CHECK(ParseDuration("99999999999999999999s") == std::nullopt);
  CHECK(ParseDuration("1" + std::string(400, '0') + "s") == std::nullopt);
}

TEST_CASE("durations are written in the largest unit that is whole", "[duration]") {
  CHECK(FormatDuration(20ms) == "20ms");
  CHECK(FormatDuration(1500us) == "1500us");
  CHECK(FormatDuration(1s) == "1s");
  CHECK(FormatDuration(90s) == "90s");
  CHECK(FormatDuration(1h) == "3600s");
  CHECK(FormatDuration(1'000'001ns) == "1000001ns");
}

TEST_CASE("a duration that was written is read back exactly", "[duration]") {
  const auto seed = GENERATE(take(5, random(1u, 1'000'000u)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    // All magnitudes from nanoseconds to a hundred days, and whole units among them.
    const auto raw = static_cast<std::int64_t>((random() >> 11) >> random() % 53);
    const Duration duration(random() % 2 == 0 ? raw : raw / 1'000'000 * 1'000'000);
    CAPTURE(duration.count(), FormatDuration(duration));
    REQUIRE(ParseDuration(FormatDuration(duration)) == duration);
  }
}

}  // namespace
}  // namespace stout
