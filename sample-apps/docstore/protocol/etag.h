#pragma once

#include <string>

#include "stout/core/types.h"

namespace stout::docstore {

/// Returns the entity tag of a state: `"<epoch>.<version>"`, quotes included. The pair grows with
/// each change of a key, also across restarts of the server.
[[nodiscard]] std::string FormatETag(Stamp stamp);

}  // namespace stout::docstore
