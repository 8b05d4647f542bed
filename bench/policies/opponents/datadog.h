#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "stout/core/policy.h"

namespace stout::bench {

/// The adaptive batching of DataDog's fork of librdkafka. Linger and batch size together follow a
/// congestion score in the manner of TCP Vegas.
///
///     rtt  <- 0.1 * latency + 0.9 * rtt
///     base <- min(base, latency); after 10 s without a new minimum, 1.01 * base
///     c     = (rtt - base) / base, at least 0
///
/// | each 100 ms       | linger (5 ms .. 500 ms) and batch size (16 KiB .. 10 MiB) |
/// |-------------------|-----------------------------------------------------------|
/// | c < 0.1           | both / 1.2                                                |
/// | 0.1 <= c <= 0.3   | stay                                                      |
/// | c > 0.3           | both * 1.2                                                |
///
/// Source: DataDog/librdkafka, src/rdkafka_adaptive.c and CONFIGURATION.md (adaptive.*, and
/// max.in.flight, which that fork sets to 1), constants as there. Its special case for a backlog
/// under a low score equals the first row. It looks at the score on a timer and drops out after 5 s
/// without an answer. Here every answer checks whether 100 ms have passed, which is equivalent.
/// Answers with an error are no samples. For further differences see Linger().
struct Datadog {
  static constexpr double kSmoothing = 0.1;
  static constexpr double kDecay = 1.01;
  static constexpr Duration kDecayAfter = std::chrono::seconds(10);
  static constexpr double kLowScore = 0.1;
  static constexpr double kHighScore = 0.3;
  static constexpr double kStep = 1.2;
  static constexpr Duration kEvery = std::chrono::milliseconds(100);
  static constexpr double kMinLinger = 5e6, kMaxLinger = 500e6;  // ns
  static constexpr double kMinBytes = 16384, kMaxBytes = 10485760;
  static constexpr std::size_t kInFlight = 1;

  double rtt = 0;   ///< Smoothed, ns; 0 before the first answer.
  double base = 0;  ///< no-load latency, ns; likewise
  TimePoint base_set{};
  TimePoint adjusted{};
  double linger = kMinLinger;  ///< ns
  double batch_bytes = kMinBytes;

  [[nodiscard]] Decision Start() const;
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const { return "datadog"; }

  bool operator==(const Datadog&) const = default;

 private:
  void RecordLatency(const BatchSample& sample);
  void Adjust();
};

}  // namespace stout::bench
