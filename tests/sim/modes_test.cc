// Many nodes in each mode: what one request waits for, what limits the rate, and that runs repeat.

#include "stout/sim/modes.h"

#include "tests/support/catch.h"

namespace stout::sim {
namespace {

using Mode = ModesSpec::Mode;

TEST_CASE("the rate of gets follows from the work of a node, for any number of nodes", "[modes]") {
  const std::uint32_t nodes = GENERATE(3U, 12U);
  const auto [mode, work_us] = GENERATE(table<Mode, double>(
      {{Mode::kMsSc, 14}, {Mode::kMsEc, 14}, {Mode::kAaEc, 24}}));  // the request, and one read
  CAPTURE(nodes, mode);
  const ModesSpec spec{.mode = mode, .nodes = nodes, .ranges = 48, .gets = 1, .duration_s = .1};
  const ModesResult result = SimulateModes(spec);
  CHECK(result.requests_per_s == Approx(nodes * 1e6 / work_us).epsilon(.05));
  CHECK(result.node_us == Approx(work_us).epsilon(.05));
  CHECK(result.batches_per_request == Approx(mode == Mode::kAaEc ? 1 : 0).margin(.02));
  CHECK(result.busiest_node > .95);
  CHECK(SimulateModes(spec) == result);
}

TEST_CASE("a lone SET waits for the members that its mode requires", "[modes]") {
  const Mode mode = GENERATE(Mode::kMsSc, Mode::kMsEc, Mode::kAaEc);
  CAPTURE(static_cast<int>(mode));
  const ModesResult result = SimulateModes(
      {.mode = mode, .nodes = 3, .gets = 0, .clients = 1, .duration_s = 1, .warmup_s = .1});
  // The way of the client takes 0.2 ms, the request 0.014. The batches for the members leave one
  // after the other, 0.01 each. A datalet takes 0.01, and the way to another node 0.2.
  const double first = .214 + .01 + .01;
  CHECK(result.latency_ms.p50 > (mode == Mode::kMsSc ? first + .2 : first) - .002);
  CHECK(result.latency_ms.p50 < (mode == Mode::kMsSc ? first + .2 : first) + .04);
  CHECK(result.batches_per_request == Approx(3).epsilon(.01));
  CHECK(result.items_per_batch == Approx(1).epsilon(.01));
}

TEST_CASE("the owner of the hottest key limits the ms modes, but not aa+ec", "[modes]") {
  const auto keys = ZipfKeys(10'000, .99);
  const auto rate = [&](Mode mode, std::uint32_t nodes) {
    return SimulateModes({.mode = mode,
                          .nodes = nodes,
                          .ranges = 48,
                          .gets = .95,
                          .keys = 10'000,
                          .popularity = keys,
                          .duration_s = .1})
        .requests_per_s;
  };
  CHECK(rate(Mode::kMsSc, 24) < 5 * rate(Mode::kMsSc, 3));
  CHECK(rate(Mode::kAaEc, 24) > 7 * rate(Mode::kAaEc, 3));
}

}  // namespace
}  // namespace stout::sim
