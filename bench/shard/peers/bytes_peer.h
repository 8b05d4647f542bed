#pragma once

#include <memory>
#include <string>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct BytesPeerOptions {
  std::string name = "bytes";
  std::string directory;  ///< Of its file: made, emptied before and removed at the end.
  /// Layers of the sampled arrays, all filled: of every 128th byte, every 64th, and so on.
  /// @{
  int position_layers = 0;  ///< Of a row, its position: for searches.
  int row_layers = 0;       ///< Of a position, its row: for single records, and parts of them.
  /// @}
};

/// This project's own, in its flat mode, which is the paper's: symbols are bytes, and an attribute
/// stands behind a byte of its own, by which it is searched. As such it takes the bytes that no
/// value has: std::runtime_error if there are fewer than there are attributes and one more.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeBytesPeer(const BytesPeerOptions& options);

}  // namespace stout::bench::shard
