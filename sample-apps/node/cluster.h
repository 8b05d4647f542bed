#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "node/peers.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/range_server.h"
#include "stout/registry.h"

namespace stout::node {

/// The other nodes of the deployment, and this node's part in it.
///
/// Threads: `server`, `members` and `registry` any, the other members the connections'.
struct Cluster {
  RangeServer& server;
  std::string self;  ///< the address that others know
  Peers peers;
  MemberRanges* members = nullptr;       ///< null: the nodes share one store
  Registry* registry = nullptr;          ///< of the lease service
  bool retired = false;                  ///< its table is dropped
  bool leaving = false;                  ///< all ranges have been handed over
  std::uint64_t forwarded = 0;           ///< commands that were sent to the owners of their keys
  boost::asio::thread_pool blocking{1};  ///< for calls that may block
  /// The requests that wait at a datalet.
  struct Queue {
    /// Each relaxed read and each search of this node has a reference until it ends, also if its
    /// connection ends first.
    std::shared_ptr<const void> own = std::make_shared<char>();
    std::size_t theirs = 0;  ///< requests of all nodes, by the last answer

    /// Number of requests of this node.
    [[nodiscard]] std::size_t waiting() const {
      return static_cast<std::size_t>(own.use_count() - 1);
    }
    [[nodiscard]] std::size_t length() const { return waiting() + theirs; }
  };
  std::map<std::string, Queue> queues{};
};

/// Reads the address of a node as clients of Redis Cluster want it: an IPv6 address is without
/// brackets.
[[nodiscard]] std::pair<std::string, std::uint16_t> HostAndPort(const std::string& address);

}  // namespace stout::node
