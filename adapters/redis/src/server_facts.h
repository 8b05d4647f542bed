#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "operations.h"
#include "protocol.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// What a server says of itself.
struct ServerFacts {
  // Its AOF, before it answers, and while it rewrites it, too: appendonly yes, appendfsync always,
  // no-appendfsync-on-rewrite no.
  bool syncs = false;
  bool has_aof = false;
  bool evicts = false;         // Keys that nobody deleted, when its memory is full.
  bool waits_for_aof = false;  // It has WAITAOF: 7.2 or newer.
  bool replica = false;
  std::size_t max_argument = 0;  // Bytes; 0: not known.
  std::string unknown{};         // Why it would not answer the first question that it did not.
};

// What to ask it, and what its answers mean. What the user may not ask (CONFIG, INFO) is taken for
// absent.
[[nodiscard]] Commands Questions();
// Of the answer to INFO replication.
[[nodiscard]] bool IsMaster(const Reply& replication);
[[nodiscard]] ServerFacts FactsOf(std::span<const Reply> answers);

// A server does nothing else meanwhile: for so many, a quarter of a second.
inline constexpr std::size_t kMaxBatchItems = 100'000;
// The largest batch that is wise, and that the server takes however it is shared among keys.
[[nodiscard]] std::size_t MaxBatchBytes(const ServerFacts& facts);
// What batches wait for on a server like that.
[[nodiscard]] Replication ReplicationOf(const RedisOptions& options, const ServerFacts& facts);
// What the server answers, with that waited for, survives its crash.
[[nodiscard]] bool IsDurable(const ServerFacts& facts, const Replication& replication);
// Why it does not, for the log.
[[nodiscard]] std::string WhyNotDurable(const ServerFacts& facts);

}  // namespace stout::redis
