#pragma once

#include <cstdint>

#include "stout/sim/scenario.h"

namespace stout::sim::internal {

/// Servers of the store that work at the same time.
[[nodiscard]] std::uint32_t ServersOf(const StoreSpec& store);

/// Items per second that the servers could serve beside the background load, were batches free.
[[nodiscard]] double ServiceCapacity(const StoreSpec& store);

/// Items per second that perfect batching, without any cost per batch, could carry beside the
/// background load: the service capacity, or the tokens if these are fewer.
[[nodiscard]] double ItemCapacity(const StoreSpec& store);

/// Requests per second of all clients, of which this number are changes. Requires a read_fraction
/// below 1.
[[nodiscard]] double RequestRate(const ClientSpec& clients, double changes_per_s);

/// Seconds that one item takes in an idle store, network included.
[[nodiscard]] double UnloadedLatency(const StoreSpec& store);

/// Returns the mean write latency, in seconds, that theory expects when every client spaces its
/// sends by `interval` seconds; infinite if the store cannot keep up. It is a first guess. It takes
/// arrivals of batches as independent, and service times as fixed except for the noise.
[[nodiscard]] double ExpectedLatency(const Scenario& scenario, double interval);

}  // namespace stout::sim::internal
