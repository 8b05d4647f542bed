#pragma once

#include <cstdint>
#include <string>

#include "stout/core/policy.h"
#include "stout/sim/simulate.h"
#include "tests/support/catch.h"

namespace stout::sim {

/// One client, one server that takes a millisecond for a batch of any size, no network.
inline Scenario Plain(double rate_per_s, double duration_s) {
  Scenario scenario;
  scenario.duration_s = duration_s;
  scenario.warmup_s = duration_s / 20;
  scenario.store = {.per_batch_us = 1000, .per_item_us = 0, .rtt_us = 0};
  scenario.clients.total_rate_per_s = rate_per_s;
  scenario.keys.count = 1'000'000;
  return scenario;
}

/// Clients that gather batches at a store with everything that a store may have.
inline Scenario Rich(std::uint32_t clients, double rate_per_s) {
  Scenario scenario;
  scenario.duration_s = 3;
  scenario.warmup_s = 0.5;
  scenario.store = {.per_batch_us = 300,
                    .per_item_us = 20,
                    .sync_us = 500,
                    .client_per_batch_us = 300,
                    .client_per_item_us = 60,
                    .workers = 3,
                    .partitions = 4,
                    .rtt_us = 400,
                    .noise_sigma = 0.5,
                    .background_load = 0.2};
  scenario.clients.count = clients;
  scenario.clients.total_rate_per_s = rate_per_s;
  scenario.clients.read_fraction = 0.2;
  scenario.keys.count = 2000 * clients;
  return scenario;
}

/// Always decides the same.
struct Constant {
  Decision decision;

  [[nodiscard]] Decision Start() const { return decision; }
  Decision Observe(const BatchSample&) { return decision; }
  [[nodiscard]] std::string Name() const { return "constant"; }
};

inline Approx Within(double share, double value) { return Approx(value).epsilon(share); }

inline double OfferedTotal(const Result& result) {
  return result.offered_per_s * result.measured_s;
}
inline double CompletedTotal(const Result& result) {
  return result.completed_per_s * result.measured_s;
}

}  // namespace stout::sim
