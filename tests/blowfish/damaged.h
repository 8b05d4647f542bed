#pragma once

#include <cstddef>
#include <vector>

#include "blowfish/index/bits.h"
#include "padded.h"

namespace stout::blowfish {

// Ways to damage the bytes of a file. All are given and visited padded; the padding does not
// change.

// Calls visit(bytes) once for each bit, with that bit flipped.
template <typename Visit>
void FlipEachBit(std::vector<std::byte> bytes, Visit visit) {
  for (std::size_t at = 0; at < bytes.size() - kBitPadding; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] ^= std::byte{1} << bit;
      visit(bytes);
      bytes[at] ^= std::byte{1} << bit;
    }
  }
}

// Calls visit(bytes) with the first 0, 1, 2... of them, but not all.
template <typename Visit>
void CutAtEachLength(const std::vector<std::byte>& bytes, Visit visit) {
  for (std::size_t length = 0; length < bytes.size() - kBitPadding; ++length) {
    visit(Padded({bytes.begin(), bytes.begin() + length}));
  }
}

}  // namespace stout::blowfish
