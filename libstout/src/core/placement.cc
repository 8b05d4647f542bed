#include "stout/core/placement.h"

#include <algorithm>

namespace stout::inline v1 {

std::vector<std::string> PlaceRange(RangeId range,
                                    const std::map<std::string, Recorded<Datalet>>& live,
                                    std::size_t replicas) {
  struct Candidate {
    const std::string* id;
    std::uint64_t capacity;    // 1..2^32 - 1
    std::uint64_t remoteness;  // 1..2^32: products fit
  };
  std::vector<Candidate> candidates;
  for (const auto& [id, datalet] : live) {
    const Datalet& value = datalet.value;
    if (value.capacity == 0 || value.leaving || value.lazy) continue;
    const std::uint64_t hash = internal::Mix(internal::NameHash(id) ^ internal::Mix(range));
    candidates.push_back({&id, value.capacity, internal::Remoteness(hash)});
  }
  // `live` is sorted by id, and the sort is stable.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.remoteness * b.capacity < b.remoteness * a.capacity;
                   });
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(replicas, candidates.size()); ++i) {
    ids.push_back(*candidates[i].id);
  }
  return ids;
}

}  // namespace stout::inline v1
