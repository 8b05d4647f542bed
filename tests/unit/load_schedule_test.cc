#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "load/schedule.h"
#include "tests/support/catch.h"

namespace stout::load {
namespace {

using namespace std::chrono_literals;

std::vector<TimePoint> All(Schedule schedule) {
  std::vector<TimePoint> result;
  for (; schedule.due() != kNever; schedule.Advance()) result.push_back(schedule.due());
  return result;
}

TEST_CASE("steps are read from text or refused", "[load]") {
  CHECK(ParseSteps("0s:500,5s:12000,15s:0.5") ==
        std::vector<Step>{{0s, 500}, {5s, 12000}, {15s, 0.5}});
  CHECK(ParseSteps("0s:0,20ms:1") == std::vector<Step>{{0s, 0}, {20ms, 1}});
  for (const char* bad : {"", "0s", "0s:", ":5", "1s:5", "0s:5,", "0s:5,0s:6", "0s:5,3s:6,2s:7",
                          "0s:-1", "0s:inf", "0s:nan", "0s:5x", "0:5;"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseSteps(bad));
  }
}

TEST_CASE("the last step lasts as long as the one before it", "[load]") {
  CHECK(ImpliedDuration({{0s, 1}, {5s, 1}, {15s, 1}}) == 25s);
}

TEST_CASE("uniform arrivals keep each step's rate exactly", "[load]") {
  const auto due = All(Schedule({{0s, 3}, {1s, 10}}, 0s, 2s, Arrivals::kUniform, 1));
  REQUIRE(due.size() == 2 + 9);  // The gap that would end on the step's end belongs to the next.
  CHECK(due[1] == TimePoint(666'666'666ns));
  CHECK(due[2] == TimePoint(1100ms));
  CHECK(due.back() == TimePoint(1900ms));
}

TEST_CASE("the warm-up comes before time zero, at the first rate", "[load]") {
  const auto due = All(Schedule({{0s, 2}}, 1s, 1s, Arrivals::kUniform, 1));
  CHECK(due == std::vector<TimePoint>{TimePoint(-500ms), TimePoint(0s), TimePoint(500ms)});
}

TEST_CASE("a silent step has no requests, and the run goes on after it", "[load]") {
  const auto due = All(Schedule({{0s, 0}, {1s, 4}, {2s, 0}}, 5s, 3s, Arrivals::kUniform, 1));
  CHECK(due == std::vector<TimePoint>{TimePoint(1250ms), TimePoint(1500ms), TimePoint(1750ms)});
  CHECK(All(Schedule({{0s, 1e-300}}, 0s, 1s, Arrivals::kPoisson, 1)).empty());
}

// Method: of exponential gaps, mean and standard deviation are equal; a share 1/e exceeds the mean.
TEST_CASE("Poisson gaps are exponential, within a step and across its end", "[load]") {
  const auto due = All(Schedule({{0s, 1000}, {10s, 5000}}, 0s, 20s, Arrivals::kPoisson, 3));
  const auto boundary = std::lower_bound(due.begin(), due.end(), TimePoint(10s));
  CHECK(static_cast<double>(boundary - due.begin()) == Approx(10'000).margin(500));
  CHECK(static_cast<double>(due.end() - boundary) == Approx(50'000).margin(1200));
  int above_mean = 0;
  for (std::size_t i = 1; i < 10'000; ++i) above_mean += due[i] - due[i - 1] > 1ms ? 1 : 0;
  CHECK(above_mean / 10'000.0 == Approx(std::exp(-1)).margin(0.03));
  CHECK(std::is_sorted(due.begin(), due.end()));
}

TEST_CASE("the same seed gives the same schedule", "[load]") {
  const auto make = [](std::uint64_t seed) {
    return All(Schedule({{0s, 100}}, 1s, 2s, Arrivals::kPoisson, seed));
  };
  CHECK(make(5) == make(5));
  CHECK(make(5) != make(6));
}

}  // namespace
}  // namespace stout::load
