#include "stout/core/hybrid_clock.h"

#include <chrono>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;
using internal::HybridClock;

constexpr TimePoint kNow{1s};
constexpr std::uint64_t kMicros = 1'000'000;

Version VersionOf(std::uint64_t micros, std::uint32_t number) { return micros << 10 | number; }

TEST_CASE("a version is the time and the node's number", "[clock]") {
  HybridClock clock;
  clock.Reserve({.number = 7, .from = 0, .until = 2 * kMicros});
  CHECK(clock.Next(kNow) == VersionOf(kMicros, 7));
  CHECK(clock.Next(kNow + 1ms) == VersionOf(kMicros + 1000, 7));
}

TEST_CASE("versions grow while the clock stands or goes back", "[clock]") {
  HybridClock clock;
  clock.Reserve({.number = 1, .from = 0, .until = 2 * kMicros});
  CHECK(clock.Next(kNow) == VersionOf(kMicros, 1));
  CHECK(clock.Next(kNow) == VersionOf(kMicros + 1, 1));
  CHECK(clock.Next(kNow - 500ms) == VersionOf(kMicros + 2, 1));
  CHECK(clock.Next(TimePoint() - 1s) == VersionOf(kMicros + 3, 1));
}

TEST_CASE("a version is higher than each that was seen", "[clock]") {
  HybridClock clock;
  clock.Reserve({.number = 1, .from = 0, .until = 2 * kMicros});
  clock.Observe(VersionOf(kMicros + 50, 1000));
  clock.Observe(VersionOf(9, 3));
  CHECK(clock.newest() == kMicros + 50);
  CHECK(clock.Next(kNow) == VersionOf(kMicros + 51, 1));
}

TEST_CASE("a clock gives versions that are reserved only", "[clock]") {
  HybridClock clock;
  CHECK_FALSE(clock.Next(kNow));
  clock.Reserve({.number = 1, .from = kMicros + 10, .until = kMicros + 12});
  CHECK(clock.Next(kNow) == VersionOf(kMicros + 11, 1));
  CHECK(clock.Next(kNow) == VersionOf(kMicros + 12, 1));
  CHECK_FALSE(clock.Next(kNow));
  CHECK_FALSE(clock.Next(kNow + 1s));
  clock.Reserve({.number = 2, .from = 0, .until = 3 * kMicros});
  CHECK(clock.Next(kNow) == VersionOf(kMicros + 13, 2));
}

TEST_CASE("a reservation ends by the steady clock, although a version that was seen is ahead",
          "[clock]") {
  constexpr TimePoint kAsked{5s};  // of the steady clock
  HybridClock clock;
  const TimePoint ahead = kNow + 1h;
  clock.Observe(VersionOf(HybridClock::MicrosOf(ahead), 2));
  clock.Reserve(
      {.number = 1, .from = 0, .until = HybridClock::MicrosOf(ahead + 300s), .end = kAsked + 300s});
  CHECK(clock.Next(kNow + 299s, kAsked + 299s));
  CHECK_FALSE(clock.Next(kNow + 301s, kAsked + 301s));
  CHECK_FALSE(clock.Next(kNow, kAsked + 301s));  // the clock of the machine goes back
}

}  // namespace
}  // namespace stout
