#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "blowfish/store/encoding_choice.h"
#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

struct BlowfishPeerOptions {
  std::string name = "blowfish";
  std::string directory;  ///< path of its file: made, emptied before and removed at the end
  /// Layers of the sampled arrays, all filled: the first has one column, the next two, then four.
  /// @{
  int record_layers = 0;  ///< For searches.
  int place_layers = 0;   ///< For single attributes, and single records.
  /// @}
  int block_layers = 0;  ///< if the values are in blocks; full, too
  blowfish::Encoding encoding = blowfish::Encoding::kMeasured;
};

/// This project's own: the compressed, searchable file of a shard, mapped.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeBlowfishPeer(const BlowfishPeerOptions& options);

}  // namespace stout::bench::shard
