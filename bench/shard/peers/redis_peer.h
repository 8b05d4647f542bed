#pragma once

#include <memory>
#include <string>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

/// "redis": a key each, read over the loopback, one GET at a time or several in a pipeline. It
/// cannot search. Throws std::runtime_error if there is no Redis or it has keys already: the server
/// has to be one of our own.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeRedisPeer(const std::string& host, int port);

}  // namespace stout::bench::shard
