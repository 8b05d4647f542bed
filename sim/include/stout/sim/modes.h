#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "stout/core/lease_table.h"
#include "stout/sim/result.h"

namespace stout::sim {

namespace internal {
class AliasTable;
}

/// Nodes with a datalet each, and clients that each wait for the answer to a request. Costs are
/// those of a stout-node before Redis (docs/SIMULATION.md).
struct ModesSpec {
  enum class Mode : std::uint8_t { kMsSc, kMsEc, kAaEc };
  Mode mode = Mode::kMsSc;
  std::uint32_t nodes = 3;     ///< >= 1
  RangeId ranges = 192;        ///< >= 1
  std::uint32_t replicas = 3;  ///< members of a range, 1..nodes
  double gets = 0.95;          ///< share of the requests; the others are SETs
  std::uint64_t keys = 1'000'000;
  /// The share of each key in the requests; null: all keys have the same.
  std::shared_ptr<const internal::AliasTable> popularity;
  std::uint32_t clients = 64;   ///< for each node
  double rtt_us = 200;          ///< between any two machines
  double request_us = 14;       ///< a node's work for a request of a client
  double batch_us = 5;          ///< likewise, for a batch to a datalet and its answer
  double item_us = 5;           ///< likewise, for each key in it
  double datalet_batch_us = 5;  ///< a datalet's work for a batch
  double datalet_item_us = 5;   ///< likewise, for each key in it
  double duration_s = 0.15;
  double warmup_s = 0.05;  ///< Not measured, < duration_s.
  std::uint64_t seed = 1;
};

/// Returns the weights of `keys` keys by Zipf's law with this exponent; null if it is 0.
[[nodiscard]] std::shared_ptr<const internal::AliasTable> ZipfKeys(std::uint64_t keys,
                                                                   double exponent);

struct ModesResult {
  double requests_per_s = 0;
  LatencySummary latency_ms;       ///< at the client
  double batches_per_request = 0;  ///< to datalets: a message and an answer each
  double items_per_batch = 0;
  double node_us = 0;       ///< work of all nodes for each request
  double datalet_us = 0;    ///< likewise, of all datalets
  double busiest_node = 0;  ///< share of its time that it is busy
  double busiest_datalet = 0;
  std::uint64_t digest = 0;

  bool operator==(const ModesResult&) const = default;
};

/// Runs the engines and the ReplicaSet of each range at the nodes that take its requests: its
/// owner, or all nodes in mode aa+ec. Members are chosen by PlaceRange, owners by RightfulOwners.
/// In the ms modes a client sends a request to the owner, and gets are answered from its memory. In
/// aa+ec it sends all to one node, which reads at a datalet. Nodes and datalets each carry out one
/// piece of work after another.
/// Once `stop` is true, the run ends, and its result is of no use.
/// Deterministic: the result depends on the arguments alone.   Threads: call it from many at once.
[[nodiscard]] ModesResult SimulateModes(const ModesSpec& spec,
                                        const std::atomic<bool>* stop = nullptr);

}  // namespace stout::sim
