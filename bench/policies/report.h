#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/bench_options.h"
#include "policies/sweep.h"

namespace stout::bench {

/// Two comparisons that the paper opens with, of one policy with the fixed intervals (`tick:`) of
/// the same setting.
/// Paper: Stout (ATC'10), abstract: 34 and 3.
struct Headline {
  std::string policy;
  /// At the lowest rate: the mean latency of the fixed interval that sustains the highest rate,
  /// over the policy's.
  double light_load_gain = 0;
  std::string throughput_fixed;
  /// The rate that the policy sustains, over that of the fixed interval with the lowest mean
  /// latency at the lowest rate.
  double sustained_gain = 0;
  std::string latency_fixed;
};

/// For every policy but the fixed intervals of which both capacity and latency were measured.
[[nodiscard]] std::vector<Headline> Headlines(const Setting& setting);

/// Mean and p99 latency by policy and rate, what each sustains, and the headlines.
[[nodiscard]] std::string ToTable(const Setting& setting, Duration max_p99);

/// All results; README.md describes it.
[[nodiscard]] std::string ToJson(const BenchOptions& options, const std::vector<Setting>& settings,
                                 bool interrupted);

/// Writes one file per setting, named after it. Each policy has a block, headed by its name, with a
/// line per rate: rate, mean, p50 and p99 in ms, writes per batch, answers per second. Throws
/// std::runtime_error if a file cannot be written.
void WritePlotData(const std::vector<Setting>& settings, const std::string& directory);

}  // namespace stout::bench
