#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct PeerOptions {
  /// For files of peers that keep some; empty: those are left out.
  std::string scratch;
  /// "host:port" of a Redis that has no keys; empty: it is left out.
  std::string redis;
};

struct LeftOut {
  std::string peer;
  std::string why;
};

struct Peers {
  std::vector<std::unique_ptr<ShardPeer>> peers;
  std::vector<LeftOut> left_out;
};

/// All that there are, compiled in or not, in the order in which they are reported.
[[nodiscard]] const std::vector<std::string>& PeerNames();

/// Those of the names given that can be had, and why the others cannot. Requires names of
/// PeerNames(). Throws std::runtime_error if a server that was named does not answer.
[[nodiscard]] Peers MakePeers(const std::vector<std::string>& names, const PeerOptions& options);

}  // namespace stout::bench::shard
