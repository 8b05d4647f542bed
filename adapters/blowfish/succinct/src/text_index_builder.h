#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "text_index.h"

namespace stout::blowfish {

/// What a TextIndex stands on.
struct TextIndexParts {
  SelfIndexParts index;
  ByteAlphabet alphabet;
  std::vector<std::byte> begins;  ///< With kBitPadding.

  [[nodiscard]] EliasFano Begins() const;
};

/// Builds the index of records of bytes, in their order.
///
/// Cost: some 0.1 us and 11 bytes of memory a byte.
[[nodiscard]] TextIndexParts BuildTextIndex(std::span<const std::string_view> records);

}  // namespace stout::blowfish
