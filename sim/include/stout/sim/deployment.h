#pragma once

#include <atomic>
#include <cstdint>

#include "stout/core/lease_table.h"

namespace stout::sim {

/// Nodes that share ranges by leases, each with a datalet; and their coordinator, which carries out
/// one call after another. The costs are those of an etcd, measured or guessed
/// (docs/SIMULATION.md).
struct DeploymentSpec {
  std::uint32_t nodes = 3;     ///< >= 2
  RangeId ranges = 16;         ///< >= 1
  std::uint32_t replicas = 3;  ///< members of a range, 1..nodes
  double ttl_s = 10;           ///< 0.1..60
  double member_timeout_s = 2;
  double rtt_us = 500;         ///< between a node and the coordinator
  double write_us = 80;        ///< the coordinator's work for a call that changes something
  double renew_us = 20;        ///< likewise, for the renewal of a session
  double event_us = 50;        ///< likewise, to tell one node of one change
  double open_us = 2000;       ///< a new owner fences the members, and reads a mark
  double hand_over_us = 5000;  ///< an owner writes what is dirty
};

/// The time from a disturbance until each range is served by the node that should own it.
struct DeploymentPhase {
  double seconds = 0;
  std::uint64_t calls = 0;     ///< to the coordinator, without renewals
  std::uint64_t renewals = 0;  ///< of sessions
  std::uint64_t events = 0;    ///< changes that it tells, for each node that it tells
  double busy_share = 0;       ///< of the coordinator's time
  double longest_wait_ms = 0;  ///< of a call at the coordinator
  std::uint64_t moves = 0;     ///< ranges that get an owner
  double unserved_p50_ms = 0;  ///< for how long they had none
  double unserved_max_ms = 0;
  bool ended = false;  ///< false: it took more than 10 minutes, or an earlier phase did

  bool operator==(const DeploymentPhase&) const = default;
};

struct DeploymentResult {
  DeploymentPhase start;   ///< all nodes start at once
  DeploymentPhase steady;  ///< a minute in which nothing happens, or six ttl
  DeploymentPhase death;   ///< the node with the most ranges dies, just after a renewal
  DeploymentPhase join;    ///< it starts again, and gets its ranges back

  bool operator==(const DeploymentResult&) const = default;
};

/// Runs the LeaseKeepers of the nodes against a LeaseLedger. An owner writes the record of a range
/// when it takes it over, and when it drops the dead member. The nodes hear of each change.
/// Once `stop` is true, the run ends, and its result is of no use.
/// Deterministic: the result depends on the arguments alone.   Threads: call it from many at once.
[[nodiscard]] DeploymentResult SimulateDeployment(const DeploymentSpec& spec,
                                                  const std::atomic<bool>* stop = nullptr);

}  // namespace stout::sim
