#pragma once

#include <string>

#include "stout/error.h"
#include "stout/store.h"

namespace stout::node {

/// Returns the identity of the data in a store, which is kept there under a key of its own. So a
/// directory that takes the place of another one is told from it. Makes one if there is none.
/// Blocks. Errors: those of the store.
[[nodiscard]] Result<std::string> DataIdOf(Store& store);

}  // namespace stout::node
