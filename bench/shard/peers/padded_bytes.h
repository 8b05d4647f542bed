#pragma once

#include <cstddef>
#include <vector>

#include "blowfish/index/bits.h"

namespace stout::bench::shard {

/// Returns the written bytes, with the padding that readers need, in exactly that memory. Leaves
/// the writer empty.
[[nodiscard]] inline std::vector<std::byte> PaddedBytes(blowfish::BitWriter& writer) {
  std::vector<std::byte> bytes = writer.Take();
  bytes.resize(bytes.size() + blowfish::kBitPadding);
  bytes.shrink_to_fit();
  return bytes;
}

}  // namespace stout::bench::shard
