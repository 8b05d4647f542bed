#include "stout/core/backoff.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

TEST_CASE("SplitMix64 is the published generator", "[backoff]") {
  SplitMix64 random(1234567);
  CHECK(random.Next() == 6457827717110365317u);
  CHECK(random.Next() == 3203168211198807973u);
  CHECK(random.Next() == 9817491932198370423u);
}

TEST_CASE("numbers are below their bound and reach both ends", "[backoff]") {
  SplitMix64 random(1);
  std::array<int, 3> seen{};
  for (int i = 0; i < 300; ++i) ++seen.at(random.Below(3));
  CHECK(*std::min_element(seen.begin(), seen.end()) > 50);
  for (int i = 0; i < 1000; ++i) {
    const double unit = random.Unit();
    REQUIRE(unit >= 0);
    REQUIRE(unit < 1);
  }
}

TEST_CASE("a pause is between half and all of what doubles up to the cap", "[backoff]") {
  const Backoff backoff{.first = 10ms, .cap = 70ms};
  SplitMix64 random(GENERATE(take(20, Catch::Generators::random(1, 1'000'000))));
  std::uint32_t failures = 0;
  for (const Duration most : {10ms, 20ms, 40ms, 70ms, 70ms, 70ms}) {
    const Duration pause = backoff.Pause(++failures, random);
    CHECK(pause >= most / 2);
    CHECK(pause <= most);
  }
}

TEST_CASE("any number of failures and any cap is fine", "[backoff]") {
  SplitMix64 random(1);
  CHECK(Backoff{.first = 1ns, .cap = Duration::max()}.Pause(4'000'000'000u, random) > 0ns);
  CHECK(Backoff{.first = 10ms, .cap = 10ms}.Pause(1, random) >= 5ms);
}

}  // namespace
}  // namespace stout
