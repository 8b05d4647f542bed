#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "load/rate_step.h"
#include "load/trial_result.h"
#include "stout/core/policy.h"

namespace stout::bench {

/// One run of a fleet of application servers against one store.
struct TrialSpec {
  std::string store_url;
  std::size_t servers = 1;
  std::size_t documents = 10000;  ///< documents of the whole fleet
  std::size_t value_bytes = 256;
  double rate = 100;  ///< Changes per second, of the whole fleet.
  Duration warmup = std::chrono::milliseconds(400);
  Duration measure = std::chrono::milliseconds(600);
  Duration patience = std::chrono::milliseconds(500);  ///< For answers, after that.
  std::uint64_t seed = 1;
  std::optional<RateStep> step;  ///< a change of the rate during the load
  Duration slice{};              ///< length of the timeline's slices; zero: no timeline
};

/// Opens the store, runs `servers` interposers with a copy of `policy` each on one thread against
/// it, and closes it. The store's timers have a thread of their own.
/// Throws std::runtime_error, whose text says what to change, if the store cannot be opened or the
/// options do not suit it. Ends early, with a result that means little, once `interrupted`.
[[nodiscard]] TrialResult RunTrial(const TrialSpec& spec, const Policy& policy,
                                   const std::atomic<bool>& interrupted);

}  // namespace stout::bench
