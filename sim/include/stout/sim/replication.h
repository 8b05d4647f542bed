#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "stout/core/policy.h"
#include "stout/core/types.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"

namespace stout::sim {

/// A range of keys whose members each hold all of it, and requests at random times.
struct ReplicationSpec {
  enum class Design : std::uint8_t {
    kChain,     ///< Members write one after another; the tail answers writes and reads.
    kParallel,  ///< The owner writes to all members at once, and answers.
  };
  Design design = Design::kParallel;
  std::uint32_t members = 3;  ///< >= 1; the owner, or the head, has the first as its own
  /// Serves a member's writes. Its round trip is that between nodes. Requires a store that neither
  /// pauses nor refuses.
  StoreSpec store;
  double read_us = 10;       ///< Service time of a read; a member serves one at a time.
  double rate_per_s = 1000;  ///< Requests, > 0.
  double read_fraction = 0.5;
  std::uint64_t keys = 100'000;  ///< >= 1, uniform
  double duration_s = 2;
  double warmup_s = 0.5;  ///< Not measured, < duration_s.
  std::uint64_t seed = 1;
};

/// Counts and latencies are of requests that were made after the warm-up.
struct ReplicationResult {
  LatencySummary write_latency_ms, read_latency_ms;  ///< At the client.
  double completed_per_s = 0;                        ///< Requests answered after the warm-up.
  /// Items that the owner or the head sends to other members, for each write answered.
  double sent_per_write = 0;
  bool stable = true;  ///< The members kept up.
  std::uint64_t digest = 0;

  bool operator==(const ReplicationResult&) const = default;
};

/// One step of a run. A version is the number of a write, in order of arrival.
struct ReplicationEvent {
  enum class Kind : std::uint8_t { kApplied, kWritten, kReadBegins, kRead };
  Kind kind;
  std::uint32_t member;  ///< kApplied.
  std::uint64_t
      request;  ///< Others: the request's number. Once it is complete, another may have it.
  std::uint64_t key;
  std::uint64_t version;  ///< of the state that is durable, acknowledged or read
};
using ReplicationWatch = std::function<void(const ReplicationEvent&)>;

/// Runs members, each behind an Engine with a copy of `policy`.
///
/// A state is durable at a member before the next member of a chain gets it. Both designs answer
/// reads with states that all members have.
/// Once `stop` is true, the run ends, and its result is of no use.
/// Deterministic: the result depends on the arguments alone.   Threads: call it from many at once.
[[nodiscard]] ReplicationResult SimulateReplication(const ReplicationSpec& spec,
                                                    const Policy& policy,
                                                    const ReplicationWatch& watch = nullptr,
                                                    const std::atomic<bool>* stop = nullptr);

}  // namespace stout::sim
