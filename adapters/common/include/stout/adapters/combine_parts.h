#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stout/core/batch.h"

namespace stout {

/// Combines the answers to the parts of a batch into one answer, for a store that splits its
/// batches. Part `p` had the items `items[p]` of the batch, given by index, and `parts[p]` refers
/// to items by these indices too. The outcome of the batch is kOk if that of a part is, and
/// otherwise that of the first part. Items of parts with another outcome are named. Requires at
/// least one part.
[[nodiscard]] WriteResult CombineParts(std::span<const WriteResult> parts,
                                       std::span<const std::vector<std::uint32_t>> items);

}  // namespace stout
