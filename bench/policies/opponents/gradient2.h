#pragma once

#include <cstddef>
#include <string>

#include "stout/core/policy.h"

namespace stout::bench {

/// Natural batching whose window is set by Netflix's Gradient2 limiter.
///
///     long  <- mean of the first 10 latencies, then an exponential average over 600;
///              * 0.95 whenever it exceeds twice the current latency
///     g      = clamp(1.5 * long / latency, 0.5, 1)
///     limit <- 0.8 * limit + 0.2 * (g * limit + 4), within 20 .. 200
///
/// | regime                                       | limit                                |
/// |----------------------------------------------|--------------------------------------|
/// | fewer than limit / 2 were in flight          | stays                                |
/// | latency <= 1.5 * long                        | grows by 0.8 a sample                |
/// | latency = (1.5 + x) * long                   | falls towards 4 / (1 - g), not below 20 |
///
/// The baseline is an average that follows the queue it is to measure, so a queue that lasts is
/// taken for the store's own latency. Failures are not told from answers.
///
/// Source: Netflix/concurrency-limits, concurrency-limits-core/src/main/java/com/netflix/
/// concurrency/limits/limit/Gradient2Limit.java and measurement/ExpAvgMeasurement.java, defaults
/// as there.
struct Gradient2 {
  static constexpr double kMin = 20;  // where it also starts
  static constexpr double kMax = 200;
  static constexpr double kTolerance = 1.5;
  static constexpr double kHeadroom = 4;
  static constexpr double kSmoothing = 0.2;
  static constexpr int kLongWindow = 600;
  static constexpr int kWarmUp = 10;

  double limit = kMin;
  double long_rtt = 0;  ///< ns
  int warm_up = 0;      ///< Samples of it so far.

  [[nodiscard]] Decision Start() const {
    return {.interval = {}, .window = static_cast<std::size_t>(limit)};
  }
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const { return "gradient2"; }

  bool operator==(const Gradient2&) const = default;

 private:
  void RecordLatency(double latency);
};

}  // namespace stout::bench
