#pragma once

#include <memory>
#include <string>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct BytesPeerOptions {
  std::string name = "bytes";
  std::string directory;  ///< path of its file: made, emptied before and removed at the end
  /// Layers of the sampled arrays, all filled: of every 256th byte, every 128th, and so on. The
  /// file has every 512th.
  /// @{
  int position_layers = 0;  ///< samples of positions by row: for searches
  int row_layers = 0;       ///< samples of rows by position: for single records, and parts of them
  /// @}
};

/// This project's own peer, in the paper's flat mode: symbols are bytes, and an attribute follows a
/// byte of its own, by which it is searched. These bytes are those that no value has. Throws
/// std::runtime_error if there are fewer than the number of attributes plus one.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeBytesPeer(const BytesPeerOptions& options);

}  // namespace stout::bench::shard
