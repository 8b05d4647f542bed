#include "world/setup.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "world/units.h"

namespace stout::sim::internal {

std::uint32_t MostClients(const Scenario& scenario) {
  std::uint32_t most = scenario.clients.count;
  for (const Step& step : scenario.steps) most = std::max(most, step.clients.value_or(0));
  return most;
}

std::vector<KeySpace> ShareKeys(const KeySpec& spec, std::uint32_t clients) {
  std::vector<KeySpace> spaces(clients);
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < clients; ++i) {
    const std::uint64_t count = spec.count / clients + (i < spec.count % clients ? 1 : 0);
    spaces[i] = {.first = first, .count = std::max<std::uint64_t>(1, count), .popularity = {}};
    first += spaces[i].count;
    if (spec.zipf == 0) continue;
    if (i > 0 && spaces[i - 1].count == spaces[i].count) {
      spaces[i].popularity = spaces[i - 1].popularity;
      continue;
    }
    std::vector<double> weights(spaces[i].count);
    for (std::size_t rank = 0; rank < weights.size(); ++rank) {
      weights[rank] = std::pow(static_cast<double>(rank + 1), -spec.zipf);
    }
    spaces[i].popularity = std::make_shared<AliasTable>(weights);
  }
  return spaces;
}

EngineOptions OptionsOf(const ClientSpec& spec, const Policy& policy, std::uint64_t seed) {
  constexpr std::size_t kNoLimit = std::size_t{1} << 62;
  EngineOptions options;
  options.lane.write_policy = policy;
  options.lane.max_dirty_keys = spec.max_dirty_keys;
  options.lane.max_dirty_bytes = kNoLimit;
  options.lane.max_delay = Seconds(spec.max_delay_s);
  options.lane.max_batch_items = spec.max_batch_items;
  options.lane.max_batch_bytes = kNoLimit;
  options.lane.max_batches_in_flight = spec.max_batches_in_flight;
  options.lane.attempt_timeout = Seconds(spec.attempt_timeout_s);
  options.max_replies = spec.max_dirty_keys;
  options.reply_deadline = Seconds(spec.reply_deadline_s);
  options.seed = seed;
  return options;
}

}  // namespace stout::sim::internal
