#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "stout/core/types.h"

namespace stout {

/// How states lie in Redis.
enum class RedisMode {
  /// With their stamps, compared by a script: nothing late can undo anything newer.
  kVersioned,
  /// As bare values, which other programs read and write. No stamps are compared: a batch that
  /// timed out and is executed later brings old values back.
  kPlain,
};

/// The options that a store on one Redis and one on a cluster share.
struct RedisOptions {
  // --- Behaviour -----------------------------------------------------------------------------

  RedisMode mode = RedisMode::kVersioned;
  std::string user{};      ///< user of an ACL; empty: the default user
  std::string password{};  ///< Empty: AUTH is not sent.
  /// Before every key, and before the names of the store's own: `stout:epoch`, `stout:fence:SCOPE`,
  /// `stout:nothing`. No key of an application may have one of these.
  std::string prefix{};
  /// How long a delete keeps its stamp, so that a late older write cannot undo it. In milliseconds,
  /// rounded up. >= 0
  Duration tombstone_ttl = std::chrono::hours(1);
  /// After this time without an answer the connection is closed; the commands that were sent may
  /// still happen. > 0
  Duration timeout = std::chrono::seconds(10);
  /// Time for a new connection: name, connect, AUTH, SELECT. > 0
  Duration connect_timeout = std::chrono::seconds(5);
  /// Replicas that must have a batch before it counts as written. With Redis 7.2 or newer and its
  /// AOF on, the replicas and the server itself must have it on disk (WAITAOF). Otherwise the
  /// replicas must have it in memory (WAIT). If fewer have it: kUnknown.
  std::size_t wait = 0;
  /// How long to wait for them. WAITAOF takes as long as the syncs of server and replica: with
  /// `appendfsync everysec` one to two seconds. In milliseconds, rounded up. < timeout. Zero: 3 s,
  /// but at most half of `timeout`.
  Duration wait_timeout{};
  /// Once the server may have lost acknowledged writes, every call is kLost: see docs/STORES.md.
  bool detect_loss = false;

  // --- Performance ---------------------------------------------------------------------------

  /// Connections to a server that write, each one round trip at a time, opened when needed. 1..1000
  std::size_t connections = 2;
  /// Connections to a server that read, of their own: a large batch holds up no reads. 1..1000
  std::size_t read_connections = 2;
  /// Calls of either kind waiting or running, beyond which one fails with kTransient at once. >= 1
  std::size_t max_queue = 4096;
};

/// The address of a server.
struct RedisAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  /// The path of a Unix socket, in place of host and port.
  std::string socket{};

  bool operator==(const RedisAddress&) const = default;
};

}  // namespace stout
