#pragma once

#include <cstddef>
#include <string>

#include "stout/core/policy.h"

namespace stout::bench {

/// Natural batching whose window is set by Netflix's Vegas limiter. An application has this law if
/// it puts the limiter in front of its store.
///
///     queue = ceil(limit * (1 - no_load / latency)),  g = max(1, floor(log10(limit)))
///
/// | observation                           | limit (1 .. 1000)   |
/// |---------------------------------------|---------------------|
/// | failed or timed out                   | limit - g           |
/// | fewer than limit / 2 were in flight   | stays: it was not the bound |
/// | queue <= g                            | limit + 6g          |
/// | g < queue < 3g                        | limit + g           |
/// | 3g <= queue <= 6g                     | stays               |
/// | queue > 6g                            | limit - g           |
///
/// no_load is the lowest latency; every U(0.5, 1) * 30 * limit samples the current one replaces it.
/// Samples that set no_load change nothing else.
///
/// Source: Netflix/concurrency-limits, concurrency-limits-core/src/main/java/com/netflix/
/// concurrency/limits/limit/VegasLimit.java, defaults as there. The random share of a probe is
/// drawn from the time of the answer, because a policy has no randomness of its own.
struct Vegas {
  static constexpr double kInitial = 20;
  static constexpr double kMax = 1000;
  static constexpr double kProbeEvery = 30;

  double limit = kInitial;
  double no_load = 0;  ///< ns; 0 before the first answer.
  double samples_since_probe = 0;
  double probe_share = 1;

  [[nodiscard]] Decision Start() const {
    return {.interval = {}, .window = static_cast<std::size_t>(limit)};
  }
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const { return "vegas"; }

  bool operator==(const Vegas&) const = default;

 private:
  void Update(const BatchSample& sample, double latency);
};

}  // namespace stout::bench
