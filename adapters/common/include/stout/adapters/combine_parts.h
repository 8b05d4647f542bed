#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stout/core/batch.h"

namespace stout {

/// Combines the answers to the parts of a batch into one answer, for a store that splits its
/// batches. Part `p` had the items `items[p]` of the batch, given by index, and `parts[p]` refers
/// to items by these indices too. If the parts do not all agree, each item is named. Requires at
/// least one part.
[[nodiscard]] WriteResult CombineParts(std::span<const WriteResult> parts,
                                       std::span<const std::vector<std::uint32_t>> items);

}  // namespace stout
