#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stout::blowfish {

/// XXH3 of 64 bits: the checksum of the log, and the hash of its tables.
[[nodiscard]] std::uint64_t Xxh3(std::string_view bytes, std::uint64_t seed = 0) noexcept;

/// For tables of byte strings.
struct BytesHash {
  using is_avalanching = void;  // Boost's tables need not mix it again.
  std::size_t operator()(std::string_view bytes) const noexcept { return Xxh3(bytes); }
};

/// For tables of what is a hash already.
struct HashItself {
  using is_avalanching = void;
  std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
};

}  // namespace stout::blowfish
