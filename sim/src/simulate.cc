#include "stout/sim/simulate.h"

#include "world/run.h"

namespace stout::sim {

Result Simulate(const Scenario& scenario, const Policy& policy, const RunLimits& limits) {
  return Simulate(scenario, PolicyOf([&](std::uint32_t) { return policy; }), limits);
}

Result Simulate(const Scenario& scenario, const PolicyOf& policy_of, const RunLimits& limits) {
  return internal::Run(scenario, policy_of, limits).Execute();
}

}  // namespace stout::sim
