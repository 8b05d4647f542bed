#include "blowfish/file/checksum.h"

#include <xxhash.h>

#include <new>

namespace stout::blowfish {
namespace {

XXH3_state_t* StateOf(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

std::uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  Reset();
}

void RunningChecksum::Free::operator()(void* state) const { XXH3_freeState(StateOf(state)); }

void RunningChecksum::Reset() { XXH3_64bits_reset(StateOf(state_.get())); }

void RunningChecksum::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(StateOf(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(StateOf(state_.get())); }

}  // namespace stout::blowfish
