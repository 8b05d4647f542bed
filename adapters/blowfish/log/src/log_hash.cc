#include "log_hash.h"

#include <xxhash.h>

namespace stout::blowfish {

std::uint64_t Xxh3(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace stout::blowfish
