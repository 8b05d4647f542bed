#include "blowfish/index/bits.h"

#include <algorithm>
#include <utility>

namespace stout::blowfish {

void BitWriter::Put(std::uint64_t value, int width) {
  while (width > 0) {
    const int used = bits_ % 8;
    if (used == 0) bytes_.push_back(std::byte{0});
    const int taken = std::min(width, 8 - used);
    bytes_.back() |= static_cast<std::byte>(LowBits(value, taken) << used);
    value >>= taken;
    width -= taken;
    bits_ += taken;
  }
}

void BitWriter::Align() { bits_ = bytes_.size() * 8; }

std::vector<std::byte> BitWriter::Take() {
  bits_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace stout::blowfish
