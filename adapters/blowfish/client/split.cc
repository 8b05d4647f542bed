#include "blowfish/client/split.h"

#include <algorithm>
#include <map>
#include <utility>

#include "blowfish/index/shard_of.h"

namespace stout::blowfish::client {
namespace {

const std::string& KeyOf(const WriteItem& item) { return item.key; }
const std::string& KeyOf(const std::string& key) { return key; }

std::size_t LargestPartOf(const WriteItem& item) {
  return std::max(item.key.size(), item.value.size());
}
std::size_t LargestPartOf(const std::string& key) { return key.size(); }

template <typename T>
Split SplitAll(std::span<const T> all, LaneId shards) {
  std::vector<std::pair<LaneId, std::uint32_t>> places;
  places.reserve(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    places.emplace_back(ShardOf(KeyOf(all[i]), shards), i);
  }
  std::sort(places.begin(), places.end());
  Split split;
  for (const auto& [shard, item] : places) {
    if (split.shards.empty() || split.shards.back() != shard) {
      split.shards.push_back(shard);
      split.items.emplace_back();
    }
    split.items.back().push_back(item);
  }
  return split;
}

template <typename T>
bool SetApart(std::span<const T> all, std::size_t most, Split* split) {
  const auto is_large = [&](std::uint32_t i) { return LargestPartOf(all[i]) > most; };
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (is_large(i)) large.push_back(i);
  }
  if (large.empty()) return false;
  for (std::size_t p = split->shards.size(); p-- > 0;) {
    std::erase_if(split->items[p], is_large);
    if (!split->items[p].empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(p);
    split->shards.erase(split->shards.begin() + at);
    split->items.erase(split->items.begin() + at);
  }
  split->items.push_back(std::move(large));
  return true;
}

}  // namespace

Split SplitByShard(std::span<const WriteItem> items, LaneId shards) {
  return SplitAll(items, shards);
}

Split SplitByShard(std::span<const std::string> keys, LaneId shards) {
  return SplitAll(keys, shards);
}

std::vector<TenantId> SplitByTenant(std::span<const TenantId> tenants, Split* split) {
  std::vector<TenantId> parts;
  Split by_tenant;
  for (std::size_t p = 0; p < split->shards.size(); ++p) {
    std::map<TenantId, std::vector<std::uint32_t>> items;
    for (const std::uint32_t i : split->items[p])
      items[tenants.empty() ? 0 : tenants[i]].push_back(i);
    for (auto& [tenant, of_tenant] : items) {
      parts.push_back(tenant);
      by_tenant.shards.push_back(split->shards[p]);
      by_tenant.items.push_back(std::move(of_tenant));
    }
  }
  *split = std::move(by_tenant);
  return parts;
}

bool SetLargeApart(std::span<const WriteItem> items, std::size_t most, Split* split) {
  return SetApart(items, most, split);
}

bool SetLargeApart(std::span<const std::string> keys, std::size_t most, Split* split) {
  return SetApart(keys, most, split);
}

}  // namespace stout::blowfish::client
