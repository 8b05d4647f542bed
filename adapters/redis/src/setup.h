#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "connection.h"
#include "operations.h"
#include "stout/error.h"

namespace stout::redis {

// What a server says of itself.
struct ServerFacts {
  bool syncs = false;  // Its AOF, before it answers: appendonly yes, appendfsync always.
  bool has_aof = false;
  bool evicts = false;         // Keys that nobody deleted, when its memory is full.
  bool waits_for_aof = false;  // It has WAITAOF: 7.2 or newer.
  bool replica = false;
  std::size_t max_argument = 0;  // Bytes; 0: not known.
  std::string unknown{};         // The first question that it would not answer, and why.
};

// On a connection that is open. What the user may not ask (CONFIG, INFO) is taken for absent.
// False: the connection was lost.
[[nodiscard]] boost::asio::awaitable<bool> Inspect(Connection& connection, ServerFacts* facts);

// The largest batch that is wise, and that the server takes however it is shared among keys.
[[nodiscard]] std::size_t MaxBatchBytes(const ServerFacts& facts);
// What batches wait for on a server like that.
[[nodiscard]] Replication ReplicationOf(const RedisOptions& options, const ServerFacts& facts);
// What the server answers, with that waited for, survives its crash.
[[nodiscard]] bool IsDurable(const ServerFacts& facts, const Replication& replication);
// Why it does not, for the log.
[[nodiscard]] std::string WhyNotDurable(const ServerFacts& facts);

// Blocks: connects and asks. Fails with kBadUrl and kTransient.
[[nodiscard]] Result<ServerFacts> SetUp(const std::shared_ptr<const RedisOptions>& options,
                                        const Target& target, Diagnostics* diagnostics);

}  // namespace stout::redis
