#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stout/core/batch.h"

namespace stout {

/// The answers to the parts of a batch as one, where a store splits what it is given: part `p` had
/// the items `items[p]` of the batch, by their places, and `parts[p]` speaks of items by these too.
/// Where the parts do not all agree, items are told one by one. Requires at least one part.
[[nodiscard]] WriteResult CombineParts(std::span<const WriteResult> parts,
                                       std::span<const std::vector<std::uint32_t>> items);

}  // namespace stout
