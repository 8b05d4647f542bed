#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "load/workload.h"
#include "load/zipf.h"
#include "tests/support/catch.h"

namespace stout::load {
namespace {

// Goal: the sampler has Zipf's probabilities. Method: compare shares with the law itself, summed
// the slow way, within five standard deviations.
TEST_CASE("ranks are drawn with the probabilities of Zipf's law", "[load]") {
  const double theta = GENERATE(0.5, 0.99, 1.0, 1.5);
  const std::uint32_t n = GENERATE(1u, 2u, 7u, 1000u);
  CAPTURE(theta, n);
  double norm = 0;
  for (std::uint32_t k = 1; k <= n; ++k) norm += std::pow(k, -theta);

  constexpr int kDraws = 200'000;
  std::vector<int> drawn(n);
  Random random(42);
  const Zipf zipf(n, theta);
  for (int i = 0; i < kDraws; ++i) ++drawn.at(zipf.Draw(random));
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    const double expected = kDraws * std::pow(rank + 1, -theta) / norm;
    CAPTURE(rank);
    CHECK(std::abs(drawn[rank] - expected) <= 5 * std::sqrt(expected) + 1e-9);
  }
}

TEST_CASE("ten million ranks stay in range and the hottest has its share", "[load]") {
  constexpr std::uint32_t kN = 10'000'000;
  const Zipf zipf(kN, 0.99);
  Random random(1);
  int first = 0;
  std::uint32_t largest = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t rank = zipf.Draw(random);
    first += rank == 0 ? 1 : 0;
    largest = std::max(largest, rank);
  }
  CHECK(largest < kN);
  CHECK(largest > kN / 2);
  // 1 / sum over k of k^-0.99 = 1 / 18.07 (Euler-Maclaurin).
  CHECK(first / 200'000.0 == Approx(1 / 18.07).epsilon(0.05));
}

TEST_CASE("the same seed chooses the same requests", "[load]") {
  const Corpus corpus{.documents = 1000, .sections = 3};
  Workload a(corpus, {.theta = 0.99}, 0.3, 7);
  Workload b(corpus, {.theta = 0.99}, 0.3, 7);
  int reads = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Workload::Choice choice = a.Next();
    const Workload::Choice same = b.Next();
    REQUIRE(choice.section == same.section);
    REQUIRE(choice.op == same.op);
    REQUIRE(choice.section < corpus.size());
    reads += choice.op == Op::kRead ? 1 : 0;
  }
  CHECK(reads == Approx(3000).epsilon(0.1));
}

TEST_CASE("a distribution is read from text or refused", "[load]") {
  CHECK(ParseDistribution("uniform") == Distribution{});
  CHECK(ParseDistribution("zipf:0.99") == Distribution{.theta = 0.99});
  CHECK(Distribution{.theta = 0.99}.Name() == "zipf:0.99");
  for (const char* bad :
       {"", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:nan", "zipf:1x", "Uniform"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseDistribution(bad));
  }
}

TEST_CASE("sections are numbered document by document", "[load]") {
  const Corpus corpus{.documents = 10, .sections = 4};
  std::string path;
  corpus.AppendPath(4 * 9 + 3, path);
  CHECK(path == "/docs/load-00000009/sections/s3");
}

}  // namespace
}  // namespace stout::load
