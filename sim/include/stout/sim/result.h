#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stout::sim {

/// Milliseconds.
struct LatencySummary {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;

  bool operator==(const LatencySummary&) const = default;
};

/// One second of a run (or one slice, where runs are short). Latencies are of the changes that
/// became durable in it, batches those that were sent in it.
struct Slice {
  double at_s = 0;  ///< Its begin, since the start of the run: the warm-up has slices too.
  double offered_per_s = 0, completed_per_s = 0;
  double write_mean_ms = 0, write_p99_ms = 0;
  double batch_items = 0, batches_per_s = 0;
  double interval_ms = 0;  ///< Mean time between two sends of a client.
  /// Most frequent regime of the policies in the slice, one vote for each batch sent, and the most
  /// frequent reason of the batches under it; see NameOf. "none" if no batch was sent.
  std::string regime = "none", reason = "none";

  bool operator==(const Slice&) const = default;
};

/// The results of a simulated run, after its warm-up.
struct Result {
  std::string scenario, policy;
  std::uint64_t seed = 0;
  double measured_s = 0;

  LatencySummary write_latency_ms;                ///< From a change to its durability.
  LatencySummary reply_latency_ms;                ///< From a request to its reply, reads included.
  double offered_per_s = 0, completed_per_s = 0;  ///< Changes.
  double written_per_s = 0;                       ///< Items at the store: after collapsing.
  double batch_items = 0;                         ///< Mean.
  double batches_per_s = 0;
  double interval_ms = 0;        ///< Mean time between two sends of a client.
  double store_latency_ms = 0;   ///< Mean of batches.
  double store_utilisation = 0;  ///< Busy share, of all servers.
  std::uint64_t retries = 0;     ///< Items that had to be sent again.
  std::uint64_t drops = 0;       ///< Batches, or parts of one, that a full queue turned away.
  std::uint64_t refused = 0;     ///< Changes that an engine pushed back: too much was pending.
  std::uint64_t expired = 0;     ///< Changes whose reply met its deadline.
  std::uint64_t pending = 0;     ///< Changes that waited to be durable at the end.
  /// Jain's index over the clients present at the end, each over its own time. There is one for the
  /// changes completed (as a share of the offered ones; in a closed loop, per second), one for the
  /// mean write latency, and one for the batches.
  double jain_throughput = 1, jain_latency = 1, jain_batches = 1;
  /// True if the store kept up: the offered changes were completed, and latency did not grow.
  bool stable = true;
  std::vector<Slice> timeline;
  std::uint64_t digest = 0;  ///< hash of every event: two runs of a seed have the same

  bool operator==(const Result&) const = default;
};

}  // namespace stout::sim
