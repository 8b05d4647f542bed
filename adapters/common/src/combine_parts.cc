#include "stout/adapters/combine_parts.h"

#include <algorithm>

namespace stout {

WriteResult CombineParts(std::span<const WriteResult> parts,
                         std::span<const std::vector<std::uint32_t>> items) {
  WriteResult result;
  const bool agree = std::all_of(parts.begin(), parts.end(), [&](const WriteResult& part) {
    return part.batch == parts.front().batch;
  });
  if (agree) result.batch = parts.front().batch;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    result.items.insert(result.items.end(), parts[p].items.begin(), parts[p].items.end());
    if (agree || parts[p].batch == Errc::kOk) continue;
    for (const std::uint32_t item : items[p]) result.items.push_back({item, parts[p].batch});
  }
  std::sort(result.items.begin(), result.items.end(),
            [](const ItemError& a, const ItemError& b) { return a.index < b.index; });
  return result;
}

}  // namespace stout
