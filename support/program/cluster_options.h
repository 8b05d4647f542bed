#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "program/options.h"
#include "stout/core/registry_table.h"

namespace stout::program {

/// Adds --lease-ttl and --handover-timeout, the options of a process that shares ranges with
/// others.
void AddLeaseOptions(Options& options, Duration& ttl, Duration& handover_timeout);

/// Adds the options of a deployment that keeps each range on several stores: --replicas, --min-in,
/// --ack, --member-timeout and --mode. The help of a program that refuses the mode aa+ec does not
/// mention it.
void AddClusterOptions(Options& options, ClusterConfig& cluster, bool has_aa_ec);

/// Returns the name of one of these options that the command line gives; "" if it gives none.
[[nodiscard]] std::string GivenClusterOption(const CLI::App& app);

/// Returns the function `given` of AgreeOnConfig. It copies the partition, and those settings that
/// the command line gives: --ranges and the above, but not --mode.
[[nodiscard]] std::function<void(ClusterConfig& kept)> GivenSettings(const CLI::App& app,
                                                                     const ClusterConfig& cluster);

}  // namespace stout::program
