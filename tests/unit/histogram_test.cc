#include "stout/core/histogram.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

Histogram HistogramOf(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (const std::uint64_t value : values) histogram.Record(value);
  return histogram;
}

// Values of all magnitudes, sorted.
std::vector<std::uint64_t> RandomValues(unsigned seed, std::size_t n) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(n);
  for (auto& value : values) value = random() >> random() % 64;
  std::sort(values.begin(), values.end());
  return values;
}

TEST_CASE("an empty histogram is all zero", "[histogram]") {
  const Histogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.Mean() == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.Quantile(0) == 0);
  CHECK(histogram.Quantile(0.5) == 0);
  CHECK(histogram.Quantile(1) == 0);
  CHECK(histogram.CountAtMost(kMax) == 0);
}

TEST_CASE("small values are kept exactly", "[histogram]") {
  const Histogram histogram = HistogramOf({1, 2, 3, 4, 5, 6, 7, 8, 9, 31});
  CHECK(histogram.Quantile(0) == 1);
  CHECK(histogram.Quantile(0.1) == 1);
  CHECK(histogram.Quantile(0.5) == 5);
  CHECK(histogram.Quantile(0.9) == 9);
  CHECK(histogram.Quantile(0.91) == 31);
  CHECK(histogram.CountAtMost(0) == 0);
  CHECK(histogram.CountAtMost(5) == 5);
  CHECK(histogram.CountAtMost(31) == 10);
  CHECK(histogram.Mean() == 7.6);
}

TEST_CASE("the values since an earlier state are those recorded after it", "[histogram]") {
  const auto seed = GENERATE(take(50, random(1u, 1'000'000u)));
  const std::vector<std::uint64_t> later = RandomValues(seed + 1, 200);
  const Histogram before = HistogramOf(RandomValues(seed, 300));
  Histogram now = before;
  for (const std::uint64_t value : later) now.Record(value);

  const Histogram since = now.Since(before);
  const Histogram alone = HistogramOf(later);
  CHECK(since.count() == later.size());
  CHECK(since.max() >= alone.max());
  CHECK(since.max() - alone.max() <= alone.max() / 32);
  for (const double q : {0., .1, .5, .9, .99}) {
    CHECK(std::min(since.Quantile(q), alone.max()) == alone.Quantile(q));
  }
  CHECK(since.sum() >= 0);
  CHECK(now.Since(now).count() == 0);
  CHECK(now.Since(now).max() == 0);
}

TEST_CASE("a quantile is never too low and at most a 32nd too high", "[histogram]") {
  const auto seed = GENERATE(take(50, random(1u, 1'000'000u)));
  CAPTURE(seed);
  const auto values = RandomValues(seed, 777);
  const Histogram histogram = HistogramOf(values);
  for (const double q : {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    const std::uint64_t exact = values[rank - 1];
    const std::uint64_t quantile = histogram.Quantile(q);
    CAPTURE(q, exact, quantile);
    CHECK(quantile >= exact);
    CHECK(quantile - exact <= exact / 32);
  }
  CHECK(histogram.Quantile(1) == values.back());
}

TEST_CASE("CountAtMost is right to within one bucket", "[histogram]") {
  const auto seed = GENERATE(take(50, random(1u, 1'000'000u)));
  CAPTURE(seed);
  const auto values = RandomValues(seed, 777);
  const Histogram histogram = HistogramOf(values);
  const auto at_most = [&](std::uint64_t bound) {
    const auto end = std::upper_bound(values.begin(), values.end(), bound);
    return static_cast<std::uint64_t>(end - values.begin());
  };
  for (int bit = 0; bit < 63; ++bit) {
    const std::uint64_t bound = (std::uint64_t{1} << bit) + bit;
    CAPTURE(bound);
    CHECK(histogram.CountAtMost(bound) >= at_most(bound - bound / 32));
    CHECK(histogram.CountAtMost(bound) <= at_most(bound + bound / 32));
  }
  CHECK(histogram.CountAtMost(kMax) == values.size());
}

TEST_CASE("the largest values are not clipped", "[histogram]") {
  Histogram histogram;
  histogram.Record(kMax);
  histogram.Record(kMax - 1);
  CHECK(histogram.max() == kMax);
  CHECK(histogram.Quantile(0.5) >= kMax - 1);
  CHECK(histogram.Quantile(1) == kMax);
}

TEST_CASE("merging is the same as recording all in one", "[histogram]") {
  const auto a = RandomValues(1, 500);
  const auto b = RandomValues(2, 300);
  auto all = a;
  all.insert(all.end(), b.begin(), b.end());
  Histogram merged = HistogramOf(a);
  merged.Merge(HistogramOf(b));
  const Histogram expected = HistogramOf(all);
  CHECK(merged.count() == expected.count());
  CHECK(merged.max() == expected.max());
  CHECK(merged.sum() == Approx(expected.sum()));
  for (int percent = 0; percent <= 100; ++percent) {
    CHECK(merged.Quantile(percent / 100.0) == expected.Quantile(percent / 100.0));
  }
}

TEST_CASE("durations are nanoseconds, and negative ones are zero", "[histogram]") {
  Histogram histogram;
  histogram.Record(Duration(-5ms));
  histogram.Record(Duration(2ms));
  CHECK(histogram.Quantile(0.5) == 0);
  CHECK(histogram.max() == 2'000'000);
}

}  // namespace
}  // namespace stout
