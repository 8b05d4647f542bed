#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "stout/sim/regret.h"
#include "stout/sim/result.h"
#include "stout/sim/sweep.h"

namespace stout::sim {

/// gnuplot is not there, or did not like what it was told.
struct PlotError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// A gnuplot script, its data included, that writes an SVG to `output`.
///
/// Rate, mean write latency and p99 over time, a curve for each result, named by its policy (and
/// scenario, if they differ).
[[nodiscard]] std::string TimelineScript(const std::vector<Result>& results,
                                         const std::filesystem::path& output);
/// Mean write latency and p99 against the rate, a curve for each policy, which ends where the store
/// no longer keeps up.
[[nodiscard]] std::string SweepScript(const Sweep& sweep, const std::filesystem::path& output);
/// Regret over the share of the points that have no more, and its geometric mean against the load;
/// a curve for each policy and for natural batching.
[[nodiscard]] std::string RegretScript(const GridFile& file, const std::filesystem::path& output);

/// Runs gnuplot with the script on its standard input. Throws PlotError.
void RunGnuplot(const std::string& script);

}  // namespace stout::sim
