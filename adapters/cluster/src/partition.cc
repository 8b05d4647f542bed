#include "stout/adapters/partition.h"

#include "stout/adapters/hash_slot.h"

namespace stout {

Partition HashPartition(RangeId ranges) {
  return {std::string(kHashPartition), ranges,
          [](std::string_view key, RangeId count) { return stout::RangeOf(key, count); }};
}

Partition SlotPartition(RangeId ranges) {
  return {"slots", ranges, [](std::string_view key, RangeId count) {
            return static_cast<RangeId>(redis::SlotOf(key) * std::size_t{count} / redis::kSlots);
          }};
}

}  // namespace stout
