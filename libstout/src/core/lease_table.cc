#include "stout/core/lease_table.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace stout::inline v1 {

std::vector<std::size_t> RightfulOwners(const std::vector<std::string>& members, RangeId ranges) {
  if (members.empty()) return {};
  using Choice = std::pair<std::uint64_t, std::size_t>;  // weight, and index of the member
  using Owned = std::pair<std::uint64_t, RangeId>;       // weight, and range
  std::vector<std::uint64_t> hashes;
  std::vector<Choice> by_hash;
  for (std::size_t i = 0; i < members.size(); ++i) {
    hashes.push_back(internal::NameHash(members[i]));
    by_hash.push_back({hashes[i], i});
  }
  std::sort(by_hash.begin(), by_hash.end(), std::greater<>());
  std::vector<std::size_t> shares(members.size(), ranges / members.size());
  for (std::size_t i = 0; i < ranges % members.size(); ++i) ++shares[by_hash[i].second];

  std::vector<std::priority_queue<Owned, std::vector<Owned>, std::greater<>>> owned(members.size());
  for (RangeId next = 0; next < ranges; ++next) {
    RangeId range = next;
    Choice last(std::numeric_limits<std::uint64_t>::max(), members.size());
    // Deferred acceptance (Gale and Shapley 1962). The range asks its members in turn, those with a
    // higher weight first. A member that gets more than its share gives up the range with its
    // lowest weight, which asks its next member. The shares suffice for all ranges, so each range
    // finds one.
    while (true) {
      const std::uint64_t mixed = internal::Mix(range);
      std::optional<Choice> best;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const Choice choice(internal::Mix(hashes[i] ^ mixed), i);
        if (choice < last && (!best || choice > *best)) best = choice;
      }
      auto& at_best = owned[best->second];
      at_best.push({best->first, range});
      if (at_best.size() <= shares[best->second]) break;
      last = {at_best.top().first, best->second};
      range = at_best.top().second;
      at_best.pop();
    }
  }

  std::vector<std::size_t> owners(ranges);
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (; !owned[i].empty(); owned[i].pop()) owners[owned[i].top().second] = i;
  }
  return owners;
}

}  // namespace stout::inline v1
