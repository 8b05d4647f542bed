#pragma once

#include <cstddef>
#include <memory>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct ZstdOptions {
  std::size_t block_bytes = 1024;  ///< bytes of values, before compression
  int level = 19;
  std::size_t dictionary_bytes = std::size_t{110} << 10;  ///< zstd's own default.
};

/// "zstd": what a careful engineer builds without a self-index. Values in small blocks, compressed
/// by zstd with a dictionary that was trained on them; compressed postings; compressed keys. Each
/// block has as many records, so that a record's number tells its block.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeZstdPeer(const ZstdOptions& options = {});

}  // namespace stout::bench::shard
