#pragma once

#include <memory>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

/// "hash": nothing is compressed. It has the values side by side, a hash map of the keys, and an
/// inverted index: a hash map of the values of each attribute, whose texts are those of the
/// records, and the lists of records one behind the other.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeHashPeer();

}  // namespace stout::bench::shard
