#include "world/alias_table.h"

#include <numeric>

namespace stout::sim::internal {

AliasTable::AliasTable(std::span<const double> weights) : columns_(weights.size()) {
  const double mean =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  std::vector<double> left(weights.begin(), weights.end());
  std::vector<std::uint32_t> poor;
  std::vector<std::uint32_t> rich;
  for (std::uint32_t i = 0; i < left.size(); ++i) (left[i] < mean ? poor : rich).push_back(i);
  // A rich one fills the column of a poor one, and becomes poor itself when it has given enough.
  while (!poor.empty() && !rich.empty()) {
    const std::uint32_t taker = poor.back();
    const std::uint32_t giver = rich.back();
    poor.pop_back();
    columns_[taker] = {static_cast<float>(left[taker] / mean), giver};
    left[giver] -= mean - left[taker];
    if (left[giver] < mean) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  // The remaining entries differ from the mean by rounding only.
  for (const std::uint32_t i : rich) columns_[i] = {1, i};
  for (const std::uint32_t i : poor) columns_[i] = {1, i};
}

}  // namespace stout::sim::internal
