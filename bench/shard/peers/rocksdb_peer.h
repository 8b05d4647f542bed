#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct RocksDbPeerOptions {
  std::string name = "rocksdb";
  std::string directory;  ///< path of the database: made, emptied before and removed at the end
  std::size_t cache_bytes = std::size_t{4} << 20;  ///< cache of unpacked blocks
};

/// Values in blocks of 4 KiB, compressed by zstd. A second column family has a key for each
/// attribute of each record, (attribute, length of value, value, record). It reads from files,
/// which the system keeps in its page cache, through a block cache of RocksDB's own.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeRocksDbPeer(const RocksDbPeerOptions& options);

}  // namespace stout::bench::shard
