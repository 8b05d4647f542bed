#pragma once

#include <string_view>

#include "stout/core/types.h"

namespace stout::blowfish {

/// A shard's record of one key. It owns nothing: keys and values are opaque bytes, kept by the
/// object that hands it out.
struct Record {
  std::string_view key;
  Stamp stamp;
  std::string_view value;  ///< Split into attributes by the shard's Schema.

  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace stout::blowfish
