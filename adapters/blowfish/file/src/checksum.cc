#include "checksum.h"

#include <new>

namespace stout::blowfish {

std::uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  Reset();
}

void RunningChecksum::Reset() { XXH3_64bits_reset(state_.get()); }

void RunningChecksum::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace stout::blowfish
