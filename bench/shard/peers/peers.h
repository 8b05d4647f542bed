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

/// The default peers, compiled in or not. Our peers also have longer names. "blowfish:R:P" has R
/// layers for searches and P for reading, the first of one column, the next of two. "bytes:P:R" is
/// similar, the first of every 128th byte, the next of every 64th.
[[nodiscard]] const std::vector<std::string>& PeerNames();

/// Returns "" if it is a peer, otherwise the problem: for CLI11.
[[nodiscard]] std::string IsPeer(const std::string& name);

/// Returns the available peers among these names, in this order, and the reasons for the others.
/// Requires that they are peers. Throws std::runtime_error if a named server does not answer.
[[nodiscard]] Peers MakePeers(const std::vector<std::string>& names, const PeerOptions& options);

}  // namespace stout::bench::shard
