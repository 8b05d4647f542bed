#pragma once

#include <cstddef>
#include <vector>

#include "bits.h"

namespace stout::blowfish {

/// The bytes followed by just the padding: the sanitizer sees any read beyond.
inline std::vector<std::byte> Padded(std::vector<std::byte> bytes) {
  bytes.resize(bytes.size() + kBitPadding);
  bytes.shrink_to_fit();
  return bytes;
}

}  // namespace stout::blowfish
