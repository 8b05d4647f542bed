#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"

namespace stout::sim {

/// Reads a policy from text, as MakePolicy does; benchmarks know more than the library.
using PolicyReader =
    std::function<std::optional<Policy>(std::string_view text, std::string* error)>;

/// When to give a run up: it then ends early, and as unstable. So a sweep does not pay for the
/// points at which a store drowns.
struct RunLimits {
  /// A run of more batches than this ends as unstable. 0: none.
  std::uint64_t max_batches = 0;
  /// So does one with more changes pending than the clients offer in this long. 0: none.
  double max_backlog_s = 0;
  /// Called with the simulated time every few dozen events; false ends the run there, and its
  /// result is of no use. A run that ends by itself is the same with and without it.
  std::function<bool(TimePoint now)> watch;
};

/// Runs a world of servers, each with its own Engine and a copy of `policy`, to its end.
///
/// A client's first request comes after a random share of its policy's first interval or gap, so
/// that servers with timers are not in step from the start. The results cover the changes that
/// become durable after the warm-up. Under a steady load neither end of the measured time is
/// censored.
/// Deterministic: the result depends on the arguments alone.   Threads: call it from many at once.
/// Requires a valid scenario.
[[nodiscard]] Result Simulate(const Scenario& scenario, const Policy& policy,
                              const RunLimits& limits = {});

/// The policy with which a client starts, by its number: servers may start far apart. (Name the
/// type at the call, as in `PolicyOf([](auto client) {...})`: anything may be a Policy.)
using PolicyOf = std::function<Policy(std::uint32_t client)>;
[[nodiscard]] Result Simulate(const Scenario& scenario, const PolicyOf& policy_of,
                              const RunLimits& limits = {});

}  // namespace stout::sim
