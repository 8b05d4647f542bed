#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "load/command_line.h"
#include "stores/contender.h"
#include "stores/rate_search.h"
#include "stores/trials.h"
#include "stores/writer.h"
#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::bench {

/// The comparison: the plain clients and the policies, on every store and number of documents.
struct CompareOptions {
  std::vector<StoreChoice> stores;
  /// The same store opened in other ways, in which the policies run too.
  std::vector<StoreChoice> variants;
  std::vector<WriterSpec> writers;
  std::vector<Policy> policies;
  std::vector<std::size_t> documents = {10000, 100};
  std::size_t value_bytes = 256;
  Duration max_p99 = std::chrono::milliseconds(50);
  RateSearch::Options search;
  /// Changes per second at which all are compared. 0: the highest rate that a plain client
  /// sustains; if the highest rates are not searched for, nothing is compared.
  double rate = 0;
  TrialTimes coarse = {std::chrono::milliseconds(300), std::chrono::milliseconds(400)};
  TrialTimes fine;
  /// Trials of the rates that matter; their medians count.
  std::size_t repetitions = 3;
  /// Seconds for which each contender has one change a second; 0: that is left out.
  std::size_t light_load_s = 60;
  std::uint64_t seed = 1;
};

/// A rate, and the median of the trials at it.
struct AtRate {
  double rate = 0;
  Trial median;
};

/// One change a second.
struct LightLoad {
  std::size_t changes = 0;
  double mean_ms = 0, p50_ms = 0, max_ms = 0;
};

/// All that was measured of one contender in one setting.
struct Entry {
  std::string name;                 ///< "pool:16", "natural", "natural VARIANT".
  bool plain = false;               ///< Without libstout.
  std::optional<AtRate> sustained;  ///< The highest rate, if any was.
  bool at_least = false;            ///< No rate that was tried was too much.
  std::optional<AtRate> compared;   ///< At the rate at which all are compared.
  std::optional<LightLoad> light;
};

/// One store with a number of documents.
struct Comparison {
  StoreChoice store;
  std::size_t documents = 0;
  std::vector<Entry> entries;

  /// The plain client that sustains most; null if none does.
  [[nodiscard]] const Entry* BestPlain() const;
};

/// Repeats the trials of these entries at their rates. Returns for each the median, or nullopt if
/// its rate was mostly not sustained; nothing if interrupted.
using RepeatTrials =
    std::function<std::vector<std::optional<AtRate>>(const std::vector<std::size_t>& entries)>;

/// Finding the best of many short trials flatters. So this lowers rates until they hold when
/// repeated, those of all policies and of the best plain clients. BestPlain() is confirmed then,
/// unless `repeat` was interrupted.
void Confirm(Comparison& comparison, double resolution, const RepeatTrials& repeat);

/// Told of each trial before it runs: for a progress line.
using OnTrial = std::function<void(const Comparison&, const std::string& name, double rate)>;

/// Runs all trials, of each comparison in turns, one after the other. When interrupted, answers
/// what there is. Throws as RunTrial.
[[nodiscard]] std::vector<Comparison> Compare(const CompareOptions& options,
                                              const OnTrial& on_trial,
                                              const std::atomic<bool>& interrupted);

}  // namespace stout::bench
