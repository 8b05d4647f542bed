#pragma once

#include <atomic>
#include <boost/json.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/sim/json_text.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"
#include "stout/sim/simulate.h"

namespace stout::sim {

/// One scenario with one policy at one rate.
struct SweepRun {
  double rate_per_s = 0;    ///< changes of all clients; reads come on top
  double load_percent = 0;  ///< in percent of the rate that perfect batching sustains
  Result result;            ///< Without its timeline.

  bool operator==(const SweepRun&) const = default;
};

/// A scenario at several rates under several policies.
struct Sweep {
  std::string scenario;        ///< Its name.
  std::vector<SweepRun> runs;  ///< By policy, then by rate, both as they were given.

  bool operator==(const Sweep&) const = default;
};

struct SweepOptions {
  std::vector<std::pair<std::string, Policy>> policies;
  std::vector<double> rates_per_s;
  unsigned jobs = 1;                        ///< Threads.
  const std::atomic<bool>* stop = nullptr;  ///< Once true, the sweep ends; its result is of no use.
  std::function<void(double share)> progress;  ///< From the calling thread, a few times a second.
};

/// Requires a scenario that ReadScenario accepts, a read_fraction below 1, and rates above 0. The
/// scenario's own policy, rate and steps of the rate are ignored.
[[nodiscard]] Sweep RunSweep(const Scenario& scenario, const SweepOptions& options);

/// Changes per second that perfect batching, without any cost per batch, could carry.
[[nodiscard]] double CapacityPerSecond(const StoreSpec& store);

[[nodiscard]] boost::json::object SweepToJson(const Sweep& sweep);
[[nodiscard]] Parsed<Sweep> ReadSweep(std::string_view text);

}  // namespace stout::sim
