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

/// Those that are compared unless others are asked for, compiled in or not. Ours have other names,
/// too: "blowfish:R:P" with so many layers for searches and for reading, the first of one column,
/// the next of two; "bytes:P:R" likewise, the first of every 128th byte, the next of every 64th.
[[nodiscard]] const std::vector<std::string>& PeerNames();

/// Empty if it is one, else what is wrong: for CLI11.
[[nodiscard]] std::string IsPeer(const std::string& name);

/// Those of the names given that can be had, in this order, and why the others cannot. Requires
/// that they are peers. Throws std::runtime_error if a server that was named does not answer.
[[nodiscard]] Peers MakePeers(const std::vector<std::string>& names, const PeerOptions& options);

}  // namespace stout::bench::shard
