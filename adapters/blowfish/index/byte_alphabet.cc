#include "blowfish/index/byte_alphabet.h"

namespace stout::blowfish {

ByteAlphabet::ByteAlphabet(const std::array<bool, 256>& occurs) : occurs_(occurs) {
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    if (!occurs[byte]) continue;
    symbol_of_[byte] = static_cast<std::uint8_t>(symbols_);
    bytes_[symbols_++] = static_cast<char>(byte);
  }
}

Result<ByteAlphabet> ByteAlphabet::Open(std::span<const std::byte> bytes) {
  if (bytes.size() != kFileBytes) return Errc::kCorrupt;
  std::array<bool, 256> occurs;
  for (std::size_t b = 0; b < occurs.size(); ++b) {
    occurs[b] = (bytes[b / 8] >> b % 8 & std::byte{1}) != std::byte{};
  }
  return ByteAlphabet(occurs);
}

std::array<std::byte, ByteAlphabet::kFileBytes> ByteAlphabet::Encode() const {
  std::array<std::byte, kFileBytes> bytes{};
  for (std::size_t b = 0; b < occurs_.size(); ++b) {
    if (occurs_[b]) bytes[b / 8] |= std::byte{1} << b % 8;
  }
  return bytes;
}

}  // namespace stout::blowfish
