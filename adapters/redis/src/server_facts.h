#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "incarnation.h"
#include "operations.h"
#include "protocol.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// The facts that a server reports about itself.
struct ServerFacts {
  // Its AOF, before it answers, and while it rewrites it, too: appendonly yes, appendfsync always,
  // no-appendfsync-on-rewrite no.
  bool syncs = false;
  bool has_aof = false;
  // When its memory is full: keys that nobody deleted, and keys that expire.
  bool evicts = false;
  bool evicts_tombstones = false;
  bool waits_for_aof = false;  // It has WAITAOF: 7.2 or newer.
  bool replica = false;
  std::size_t replicas = 0;  // its own, connected at present
  Incarnation incarnation{};
  std::size_t max_argument = 0;  // Bytes; 0: not known.
  std::string unknown{};         // Why it would not answer the first question that it did not.
};

// The commands that ask for the facts, and the meaning of their answers. Facts that the user may
// not ask for (CONFIG, INFO) count as absent.
[[nodiscard]] Commands Questions();
// These read the answer to INFO replication.
[[nodiscard]] bool IsMaster(const Reply& replication);
// Returns the number of the server's own replicas that are connected.
[[nodiscard]] std::size_t ReplicasOf(const Reply& replication);
[[nodiscard]] ServerFacts FactsOf(std::span<const Reply> answers);

// A server does nothing else while it executes a batch: about 0.25 s for this number of items.
inline constexpr std::size_t kMaxBatchItems = 100'000;
// The largest batch that is wise, and that the server takes however it is shared among keys.
[[nodiscard]] std::size_t MaxBatchBytes(const ServerFacts& facts);
// Returns the replication that batches wait for on such a server.
[[nodiscard]] Replication ReplicationOf(const RedisOptions& options, const ServerFacts& facts);
// Returns the time for which tombstones certainly stay: 0 if the server may evict them.
[[nodiscard]] Duration TombstoneTtl(const RedisOptions& options, const ServerFacts& facts);
// Returns true if acknowledged batches survive a crash of the server with this replication.
[[nodiscard]] bool IsDurable(const ServerFacts& facts, const Replication& replication);
// Why it does not, for the log.
[[nodiscard]] std::string WhyNotDurable(const ServerFacts& facts);
// Returns the reason why a loss of acknowledged writes could go unnoticed; empty if it cannot.
[[nodiscard]] std::string WhyNoLossDetection(const ServerFacts& facts);

}  // namespace stout::redis
