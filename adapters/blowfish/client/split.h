#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/types.h"

namespace stout::blowfish::client {

// The shards that a batch concerns, in their order, and its items in each, by their places.
struct Split {
  std::vector<LaneId> shards;
  std::vector<std::vector<std::uint32_t>> items;

  bool operator==(const Split&) const = default;
};

[[nodiscard]] Split SplitByShard(std::span<const WriteItem> items, LaneId shards);
[[nodiscard]] Split SplitByShard(std::span<const std::string> keys, LaneId shards);

// Splits each element by the tenant that asks for the key. `tenants`: as ReadBatch::tenants.
// Returns the tenant of each element.
std::vector<TenantId> SplitByTenant(std::span<const TenantId> tenants, Split* split);

// Moves the items whose key or value has more than `most` bytes into one more element of
// `split->items`, behind those of shards. Returns false if there are none.
[[nodiscard]] bool SetLargeApart(std::span<const WriteItem> items, std::size_t most, Split* split);
[[nodiscard]] bool SetLargeApart(std::span<const std::string> keys, std::size_t most, Split* split);

}  // namespace stout::blowfish::client
