#pragma once

// Compiled into what includes it: of bytes as few as a key or a token, a call costs as much as the
// hash. Its names are others so, for which no other header includes xxhash.h.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stout::blowfish {

/// XXH3 of 64 bits: what tables hash by, and the log checks by. Part of what is on disk.
[[nodiscard]] inline std::uint64_t Xxh3(std::string_view bytes, std::uint64_t seed = 0) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

/// For tables of byte strings.
struct BytesHash {
  using is_avalanching = void;  // Boost's tables need not mix it again.
  using is_transparent = void;  // Nor need a view become a string to be looked for.
  std::size_t operator()(std::string_view bytes) const noexcept { return Xxh3(bytes); }
};

/// For tables of what is a hash already.
struct HashItself {
  using is_avalanching = void;
  std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
};

}  // namespace stout::blowfish
