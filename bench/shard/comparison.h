#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "load/workload.h"
#include "shard/lineitem.h"
#include "shard/peers/peers.h"
#include "shard/queries.h"
#include "shard/space.h"
#include "shard/timing.h"

namespace stout::bench::shard {

struct CompareOptions {
  LineitemOptions data;
  /// A kind of MadeValues, which have no attributes to search. Empty: line items.
  std::string kind;
  std::vector<std::string> peers = PeerNames();
  PeerOptions peer_options;
  load::Distribution distribution;  ///< of keys, and of the searched values
  std::size_t gets = 100'000;       ///< gets in a batch
  std::size_t depth = 16;           ///< gets in one call of a peer, in "get x16"
  SearchBounds searches;            ///< limits of a batch
  SubstringBounds substrings;       ///< likewise; none by default
  /// Names of SearchClasses: one that asks for few records, one for hundreds, one for thousands.
  std::vector<std::string> classes = {"mix8", "orderkey", "suppkey", "quantity"};
  std::size_t repeats = 3;
  double longest_s = 1;  ///< longest run of a batch; a slower peer runs a part of it
  std::uint64_t seed = 1;
};

/// The memory and time of a peer.
struct PeerCost {
  std::string name;
  Space space;                        ///< after the measurements, with full caches
  double build_s = 0;                 ///< elapsed time
  double build_cpu_s = 0;             ///< of all threads of this process, not of a server
  std::int64_t pss_growth_bytes = 0;  ///< of this process, while it was built
};

/// The times of the peers, if they can, for one batch.
struct Workload {
  struct Entry {
    std::string peer;
    Timing timing;
  };

  std::string name;  ///< "get", "get x16", "search CLASS", "count CLASS", "50/50 CLASS", "grep".
  double hits_per_operation = 0;  ///< Records found.
  std::vector<Entry> entries;
};

struct Comparison {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;  ///< bytes of values
  std::vector<PeerCost> peers;
  std::vector<LeftOut> left_out;
  std::vector<Workload> workloads;
};

/// Called before each step with its name: a build, a check, a workload.
using OnStep = std::function<void(const std::string&)>;

/// Builds all peers, verifies each against brute force, and measures them side by side. Throws
/// std::runtime_error with the mismatch if a peer gives a wrong answer, or with another failure.
[[nodiscard]] Comparison Compare(const CompareOptions& options, const OnStep& on_step);

}  // namespace stout::bench::shard
