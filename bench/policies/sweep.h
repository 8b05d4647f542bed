#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/bench_options.h"
#include "policies/trial.h"

namespace stout::bench {

/// A policy at a rate: one result per trial.
struct Point {
  double rate = 0;
  std::vector<TrialResult> trials;

  [[nodiscard]] bool measured() const { return !trials.empty(); }
  /// Requires measured().
  [[nodiscard]] TrialResult Median() const { return bench::Median(trials); }
  /// In at least half of its trials. Requires measured().
  [[nodiscard]] bool Sustained(Duration max_p99) const;
};

/// The highest rate that a policy was seen to sustain, and that trial.
struct Capacity {
  double rate = 0;
  bool at_least = false;  ///< No rate that was tried was too much.
  TrialResult trial;
};

/// All that was measured of one policy in one setting.
struct PolicyResults {
  std::string policy;
  std::vector<Point> points;         ///< By rate, ascending.
  std::optional<Capacity> capacity;  ///< If it was looked for and found.
};

/// One store, with a number of servers and of documents.
struct Setting {
  StoreChoice store;
  std::size_t servers = 1;
  std::size_t documents = 1;
  std::vector<PolicyResults> policies;  ///< In the order of BenchOptions::policies.

  /// Not so if the run was interrupted before its turn.
  [[nodiscard]] bool measured() const;
};

/// Runs one trial: RunTrial, or what measures another kind of fleet.
using TrialRunner = std::function<TrialResult(const TrialSpec&, const Policy&,
                                              const std::atomic<bool>& interrupted)>;

/// Told of each trial before it runs: for a progress line.
using OnTrial = std::function<void(const Setting&, const Policy&, double rate)>;

/// Runs all trials, in turns, one after the other. When interrupted, answers what there is:
/// settings of which something was measured.
/// Throws as `run_trial`.
[[nodiscard]] std::vector<Setting> Measure(const BenchOptions& options,
                                           const TrialRunner& run_trial, const OnTrial& on_trial,
                                           const std::atomic<bool>& interrupted);

}  // namespace stout::bench
