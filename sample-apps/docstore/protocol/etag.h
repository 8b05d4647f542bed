#pragma once

#include <string>
#include <string_view>

#include "stout/core/types.h"

namespace stout::docstore {

/// Returns the entity tag of a change: `"<epoch>.<version>"`, quotes included. The pair grows with
/// each change of a key, also across restarts of the server.
[[nodiscard]] std::string FormatETag(Stamp stamp);

/// Returns the entity tag of a state. If the store keeps no stamps, the stamp is zero, and the tag
/// is `"hash.<16 hex digits>"`. It changes with the bytes of the state, and does not grow.
[[nodiscard]] std::string FormatETag(Stamp stamp, std::string_view value);

}  // namespace stout::docstore
