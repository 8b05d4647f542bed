#pragma once

#include <cstdint>
#include <vector>

#include "stout/core/options.h"
#include "stout/core/policy.h"
#include "stout/sim/scenario.h"
#include "world/key_space.h"

namespace stout::sim::internal {

/// The number of clients at the fullest time of the run.
std::uint32_t MostClients(const Scenario& scenario);

/// The keys of each client: equal shares, to within one key, and at least one.
std::vector<KeySpace> ShareKeys(const KeySpec& spec, std::uint32_t clients);

/// The options of a client's engine.
EngineOptions OptionsOf(const ClientSpec& spec, const Policy& policy, std::uint64_t seed);

}  // namespace stout::sim::internal
