// Many nodes and their coordinator: what a start, a death and a return cost, and what does not
// depend on the number of nodes.

#include "stout/sim/deployment.h"

#include "tests/support/catch.h"

namespace stout::sim {
namespace {

TEST_CASE("a deployment starts, survives a node, and takes it back", "[deployment]") {
  const std::uint32_t nodes = GENERATE(3U, 5U, 20U);
  const DeploymentSpec spec{.nodes = nodes, .ranges = 64};
  const DeploymentResult result = SimulateDeployment(spec);
  for (const DeploymentPhase* const phase : {&result.start, &result.death, &result.join}) {
    CHECK(phase->ended);
    CHECK(phase->moves > 0);
    // Each change of an owner, and each record that it writes, is told to each node that lives.
    CHECK(phase->events >= 2 * phase->moves * (nodes - 1));
  }
  CHECK(result.start.moves >= spec.ranges);
  // Each node renews its session three times per ttl, and nothing else happens.
  CHECK(result.steady.renewals == Approx(nodes * 60 / (spec.ttl_s / 3)).epsilon(.1));
  CHECK(result.steady.calls == 0);
  CHECK(result.steady.events == 0);
  // The ranges of a node that dies wait for the end of its session, which is noticed within half a
  // second, and then for their openings. Others move between nodes that stay, without this wait.
  CHECK(result.death.moves >= spec.ranges / nodes);
  CHECK(result.death.unserved_max_ms > 1000 * spec.ttl_s - 10);
  CHECK(result.death.unserved_max_ms < 1000 * spec.ttl_s + 600);
  CHECK(result.death.moves == result.join.moves);
  // An owner takes each range over, and others drop the dead member.
  CHECK(result.death.calls > 2 * result.death.moves);
  CHECK(result.join.unserved_max_ms < 100);
  CHECK(SimulateDeployment(spec) == result);
}

TEST_CASE("a shorter life of sessions costs renewals, and shortens a failover", "[deployment]") {
  const DeploymentResult slow = SimulateDeployment({.nodes = 5});
  const DeploymentResult quick = SimulateDeployment({.nodes = 5, .ttl_s = 1});
  CHECK(quick.steady.renewals == Approx(10 * slow.steady.renewals).epsilon(.1));
  CHECK(quick.death.unserved_max_ms < 1600);
  CHECK(quick.death.calls == slow.death.calls);  // the dead member is dropped after the ttl, too
}

TEST_CASE("a start does not depend on the life of sessions", "[deployment]") {
  // Nodes that join later find ranges taken that they should own.
  DeploymentSpec spec{.nodes = 30, .ranges = 100, .event_us = 2};
  const DeploymentResult slow = SimulateDeployment(spec);
  CHECK(slow.start.seconds < .1);
  // At most each range is taken, and freed, by one node before the one that should own it.
  CHECK(slow.start.calls < spec.nodes + 4 * spec.ranges);
  spec.ttl_s = 2;
  CHECK(SimulateDeployment(spec).start == slow.start);
}

TEST_CASE("what a coordinator tells costs more with each node", "[deployment]") {
  DeploymentSpec spec{.nodes = 20, .ranges = 500, .ttl_s = 2, .event_us = 2};
  const DeploymentResult good = SimulateDeployment(spec);
  spec.event_us = 200;
  const DeploymentResult bad = SimulateDeployment(spec);
  CHECK(bad.start.seconds > 5 * good.start.seconds);
  CHECK(bad.start.busy_share > .9);
  CHECK(bad.start.busy_share <= 1);  // without the work that is left for later
  CHECK(bad.start.ended);
}

}  // namespace
}  // namespace stout::sim
