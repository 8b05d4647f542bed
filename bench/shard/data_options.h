#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "load/workload.h"
#include "shard/lineitem.h"
#include "shard/placed_records.h"

namespace stout::bench::shard {

// Options that mean the same in all programs of the shard server's benchmarks.

/// Adds --size and the seed of the records. The same size and seed give the same records.
void AddDataOptions(CLI::App& app, LineitemOptions& data,
                    const std::string& seed_flag = "--data-seed");

/// Adds --placed-by ATTRIBUTE:SHARDS.
CLI::Option* AddPlacement(CLI::App& app, std::optional<Placement>& placement);

/// Returns "" if it is one of SearchClasses() of line items, otherwise the problem: for CLI11.
[[nodiscard]] std::string IsSearchClass(const std::string& name);

/// Adds --distribution of the requests.
void AddDistribution(CLI::App& app, load::Distribution& distribution);

}  // namespace stout::bench::shard
