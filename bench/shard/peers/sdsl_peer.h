#pragma once

#include <memory>

#include "shard/peers/shard_peer.h"

namespace stout::bench::shard {

/// Self-indexes of sdsl-lite, over the text that Succinct makes of records: each attribute behind a
/// byte of its own, 0x80 on, each record with a newline behind it. Suffix array and inverse are
/// sampled every 32 places. Only for values without such bytes and without zeros, that have all
/// attributes, at most 127: std::runtime_error for others.
/// @{
/// "sdsl-sada": Psi, its differences in Elias' delta code, every 128th as it is.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeSdslSadaPeer();
/// "sdsl-wt": a Huffman-shaped wavelet tree of the Burrows-Wheeler transform, of hybrid bit
/// vectors.
[[nodiscard]] std::unique_ptr<ShardPeer> MakeSdslWaveletPeer();
/// @}

}  // namespace stout::bench::shard
