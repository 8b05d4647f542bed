#pragma once

#include <cstddef>
#include <string_view>

#include "bytes_hash.h"

namespace stout::blowfish {

/// The shard that has a key, of so many. Part of what is on disk and of what clients compute: it
/// never changes.
[[nodiscard]] inline std::size_t ShardOf(std::string_view key, std::size_t shards) noexcept {
  return Xxh3(key) % shards;
}

}  // namespace stout::blowfish
