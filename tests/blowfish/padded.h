#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "blowfish/index/bits.h"
#include "stout/error.h"

namespace stout::blowfish {

/// The bytes followed by just the padding: the sanitizer sees any read beyond.
inline std::vector<std::byte> Padded(std::vector<std::byte> bytes) {
  bytes.resize(bytes.size() + kBitPadding);
  bytes.shrink_to_fit();
  return bytes;
}

/// The bytes without the padding.
template <typename T>
Result<T> OpenPadded(const std::vector<std::byte>& padded) {
  return T::Open(std::span(padded).first(padded.size() - kBitPadding));
}

}  // namespace stout::blowfish
