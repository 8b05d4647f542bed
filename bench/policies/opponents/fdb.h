#pragma once

#include <chrono>
#include <string>

#include "stout/core/policy.h"

namespace stout::bench {

/// The interval law of FoundationDB's commit proxy: a share of the latency, smoothed.
///
///     interval <- clamp(0.1 * fraction * latency + 0.9 * interval, 1 ms, 20 ms)
///
/// | regime                         | interval                                          |
/// |--------------------------------|---------------------------------------------------|
/// | latency < 1 ms / fraction      | 1 ms: the store is too fast to matter             |
/// | between                        | fraction * latency, reached over some ten batches |
/// | latency > 20 ms / fraction     | 20 ms: it no longer adapts                        |
///
/// Source: apple/foundationdb, fdbserver/CommitProxyServer.actor.cpp ("Dynamic batching for
/// commits", commitBatcher) and fdbclient/ServerKnobs.cpp (COMMIT_TRANSACTION_BATCH_*), constants
/// as there. Commits overlap without a bound, so the window has none.
/// Differs: there the first change after a pause waits 0.5 ms and the delays are jittered; here it
/// goes at once. Batches that fail end the proxy there; here they are no samples.
struct Fdb {
  static constexpr double kShippedFraction = 0.1;
  static constexpr double kSmoother = 0.1;
  static constexpr Duration kMin = std::chrono::milliseconds(1);
  static constexpr Duration kMax = std::chrono::milliseconds(20);

  double fraction = kShippedFraction;  ///< share of the latency; > 0
  Duration interval = kMin;

  [[nodiscard]] Decision Start() const {
    return {.interval = interval, .window = Decision::kUnlimited};
  }
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const;

  bool operator==(const Fdb&) const = default;
};

}  // namespace stout::bench
