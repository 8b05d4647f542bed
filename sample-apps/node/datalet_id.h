#pragma once

#include <string>

#include "stout/error.h"
#include "stout/store.h"

namespace stout::node {

/// Returns the identity of the data in a store, which is kept there under a key of its own. So a
/// directory that takes the place of another one is told from it. Makes one if there is none: then
/// the store was never a datalet, and must be empty. Blocks.
/// Errors: those of the store; kBadOptions if it has other keys, see WhyNotEmpty.
[[nodiscard]] Result<std::string> DataIdOf(Store& store, Diagnostics* diagnostics = nullptr);

}  // namespace stout::node
