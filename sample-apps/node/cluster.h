#pragma once

#include <string>

#include "node/peers.h"
#include "stout/adapters/range_server.h"

namespace stout::node {

/// What a node has that shares its store with others.
///
/// Threads: `server` any, the other members the connections'.
struct Cluster {
  RangeServer& server;
  std::string self;  ///< the address that others know
  Peers peers;
  bool leaving = false;  ///< all ranges have been handed over
};

}  // namespace stout::node
