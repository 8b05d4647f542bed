#pragma once

#include <boost/json.hpp>
#include <vector>

#include "stout/sim/json_text.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"
#include "stout/sim/simulate.h"

namespace stout::sim {

/// One setting that a sweep tried.
struct Trial {
  double ms = 0;
  double mean_ms = 0;  ///< Mean write latency.
  bool stable = true;

  bool operator==(const Trial&) const = default;
};

/// The setting with the least mean write latency, and what it gives.
struct Best {
  double chosen_ms = 0;
  Result result;              ///< of the whole scenario, so that it compares with any policy's
  std::vector<Trial> trials;  ///< In the order in which they ran; their runs may be shorter.

  bool operator==(const Best&) const = default;
};

/// The settings of a clairvoyant operator: the baseline for an adaptive policy.
struct Oracle {
  Best interval;  ///< interval of `fixed:T`: time between two sends of a client
  Best gap;       ///< gap of `gap:T`: pause of a client after each answer
};

/// Finds the best fixed interval: the spacing between the sends of every client that has the least
/// mean write latency. About 12 short runs find it to 4 %. Short runs end before a long queue has
/// settled. Therefore at least three whole runs check that no interval a fifth longer or shorter is
/// better.
///
/// Every server has a phase of its own and 2 % of jitter. Under an exact interval, servers that the
/// simulation starts together would send together for ever.
///
/// Deterministic.   Threads: none of its own.   Requires a valid scenario; its policy is ignored.
/// If no interval is stable, the one with the least latency is chosen and `result.stable` is false.
[[nodiscard]] Best BestFixedInterval(const Scenario& scenario, const RunLimits& limits = {});

/// The same for the pause after each answer. `interval` is what BestFixedInterval found: the search
/// begins at what remains of it beside the store's latency.
[[nodiscard]] Best BestFixedGap(const Scenario& scenario, const Best& interval,
                                const RunLimits& limits = {});

/// The interval that queueing theory gives (M/D/c, independent clients), where the sweep begins.
[[nodiscard]] double TheoreticalIntervalMs(const Scenario& scenario);

/// A result with two members more: `chosen_ms` and `trials`.
[[nodiscard]] boost::json::object BestToJson(const Best& best);
[[nodiscard]] Parsed<Best> BestFromJson(const boost::json::value& value);

}  // namespace stout::sim
