// The estimate of the adaptive law: the cost of a batch, and the latency of an idle store.

#include "stout/core/policy/base_latency.h"
#include "stout/core/policy/cost_model.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

constexpr double kUnbounded = 1e9;  // seconds that a batch of one may cost

}  // namespace

TEST_CASE("cost model: finds the line through exact costs") {
  CostModel model;
  for (int i = 0; i < 300; ++i) {
    const double items = 1 + i % 40;
    model.Learn(items, 2e-3 + 1e-4 * items, kUnbounded);
  }
  CHECK(model.fixed() == Approx(2e-3).epsilon(0.06));
  CHECK(model.per_item() == Approx(1e-4).epsilon(0.06));
  CHECK(model.Of(20) == Approx(4e-3).epsilon(0.01));
}

TEST_CASE("cost model: batches of one size are on the line all the same") {
  CostModel model;
  for (int i = 0; i < 50; ++i) model.Learn(30, 6e-3, kUnbounded);
  CHECK(model.Of(30) == Approx(6e-3));
  CHECK(model.fixed() >= 0);
  CHECK(model.per_item() >= 0);
}

TEST_CASE("cost model: answers in any order mean that a batch costs nothing, not less") {
  CostModel model;
  SplitMix64 random(1);
  for (int i = 0; i < 200; ++i) {
    model.Learn(1 + static_cast<double>(random.Below(50)), i % 2 == 0 ? 1e-3 : -1e-3, kUnbounded);
  }
  CHECK(model.fixed() >= 0);
  CHECK(model.per_item() >= 0);
  CHECK(model.Of(25) < 5e-4);
}

TEST_CASE("cost model: a batch of one costs no more than the time in which one was answered") {
  CostModel model;  // large batches alone, whose times scatter: any line would do
  SplitMix64 random(1);
  for (int i = 0; i < 20; ++i) {
    const double items = 200 + static_cast<double>(random.Below(20));
    model.Learn(items, 1e-4 * items * (0.8 + 0.001 * static_cast<double>(random.Below(400))), 5e-3);
  }
  CHECK(model.Of(1) <= 5e-3);
  CHECK(model.Of(210) == Approx(21e-3).epsilon(0.1));
}

TEST_CASE("cost model: forgets a store that became faster") {
  CostModel model;
  for (int i = 0; i < 200; ++i) model.Learn(1 + i % 20, 10e-3, kUnbounded);
  for (int i = 0; i < 600; ++i) model.Learn(1 + i % 20, 1e-3, kUnbounded);
  CHECK(model.Of(10) < 1.2e-3);
}

TEST_CASE("base latency: the least that was seen") {
  BaseLatency base;
  base.Begin(5e-3);
  base.Learn(1e-3, 0, true, 1);
  CHECK(base.of_one() == Approx(1e-3));
  base.Learn(0.9e-3, 0, true, 1);
  CHECK(base.of_one() == Approx(0.9e-3));
}

TEST_CASE("base latency: what is left after subtracting costs counts on average only") {
  BaseLatency base;
  base.Begin(3e-3);
  base.Learn(3e-3, 1e-3, true, 1);
  CHECK(base.of_one() > 2.5e-3);
  for (int i = 0; i < 30; ++i) base.Learn(3e-3, 1e-3, true, 1);
  CHECK(base.of_one() == Approx(2e-3).epsilon(0.01));
}

TEST_CASE("base latency: rises slowly, and not above what is seen") {
  BaseLatency base;
  base.Begin(1e-3);
  for (int i = 0; i < 1000; ++i) base.Learn(8e-3, 0, true, 1);
  CHECK(base.of_one() > 1.01e-3);
  CHECK(base.of_one() < 1.05e-3);
  base.Begin(1e-3);
  for (int i = 0; i < 1000; ++i) base.Learn(1e-3, 0, true, 1);
  CHECK(base.of_one() <= 1e-3);
}

TEST_CASE("base latency: one estimate less an estimate does not make a store fast") {
  BaseLatency base;
  base.Begin(5e-3);
  base.Learn(5e-3, 4.999e-3, true, 1);
  CHECK(base.of_one() > 3e-3);
}

TEST_CASE("base latency: large batches count without what their items cost") {
  BaseLatency base;
  base.Begin(3e-3);
  for (int i = 0; i < 50; ++i) base.Learn(3e-3, 1e-3, false, 1);
  CHECK(base.of_one() == Approx(2e-3).epsilon(0.01));
}

}  // namespace stout
