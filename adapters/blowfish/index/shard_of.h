#pragma once

#include <cstddef>
#include <string_view>

#include "blowfish/index/bytes_hash.h"

namespace stout::blowfish {

/// Returns the shard that has a key, in [0, shards). It never changes, because files on disk and
/// clients depend on it.
[[nodiscard]] inline std::size_t ShardOf(std::string_view key, std::size_t shards) noexcept {
  return Xxh3(key) % shards;
}

}  // namespace stout::blowfish
