#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "load/workload.h"
#include "shard/lineitem.h"
#include "shard/placed_records.h"

namespace stout::bench::shard {

// Options that have one meaning in all programs of the shard server's benchmarks.

/// --size and, by another name where a program has no other seed, --data-seed: the same give the
/// same records.
void AddDataOptions(CLI::App& app, LineitemOptions& data,
                    const std::string& seed_flag = "--data-seed");

/// --placed-by ATTRIBUTE:SHARDS.
void AddPlacement(CLI::App& app, std::optional<Placement>& placement);

/// --distribution, of what is asked for.
void AddDistribution(CLI::App& app, load::Distribution& distribution);

}  // namespace stout::bench::shard
