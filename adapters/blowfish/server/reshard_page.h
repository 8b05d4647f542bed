#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/store/shard.h"

namespace stout::blowfish {

/// A key of a shard with all that the shard keeps of it.
struct KeyState {
  std::string key;
  Stamp stamp;
  std::optional<std::string> value;  ///< nullopt: the key was deleted

  friend bool operator==(const KeyState&, const KeyState&) = default;
};

struct PageLimits {
  /// Maximum bytes of keys and values, which the last value may exceed.
  std::size_t bytes = std::size_t{4} << 20;
  std::size_t keys = 1000;
};

/// Reads the first keys behind `after`, in byte order, with tombstones; nullopt: from the first key
/// on. Returns no key if there are no more.
[[nodiscard]] std::vector<KeyState> ReadPage(Shard& shard, std::optional<std::string_view> after,
                                             const PageLimits& limits);

}  // namespace stout::blowfish
