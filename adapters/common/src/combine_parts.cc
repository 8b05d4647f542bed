#include "stout/adapters/combine_parts.h"

#include <algorithm>

namespace stout {

WriteResult CombineParts(std::span<const WriteResult> parts,
                         std::span<const std::vector<std::uint32_t>> items) {
  const bool any_done =
      std::ranges::any_of(parts, [](const WriteResult& part) { return part.batch == Errc::kOk; });
  WriteResult result{any_done ? Errc::kOk : parts.front().batch, {}};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto& named = parts[p].items;
    result.items.insert(result.items.end(), named.begin(), named.end());
    if (parts[p].batch == result.batch) continue;
    for (const std::uint32_t item : items[p]) {
      const bool is_named = std::ranges::binary_search(named, item, {}, &ItemError::index);
      if (!is_named) result.items.push_back({item, parts[p].batch});
    }
  }
  std::ranges::sort(result.items, {}, &ItemError::index);
  return result;
}

}  // namespace stout
