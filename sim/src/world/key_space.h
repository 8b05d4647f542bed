#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "stout/core/random.h"
#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "world/alias_table.h"

namespace stout::sim::internal {

/// A key of the simulated world: its number, in eight bytes.
class Key {
 public:
  explicit Key(std::uint64_t number) { std::memcpy(bytes_.data(), &number, sizeof number); }

  [[nodiscard]] KeyView view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, sizeof(std::uint64_t)> bytes_;
};

/// The partition of the store that holds a key: by hash, so evenly.
inline LaneId PartitionOf(KeyView key, LaneId partitions) {
  std::uint64_t number = 0;
  std::memcpy(&number, key.data(), sizeof number);
  return static_cast<LaneId>(SplitMix64(number).Below(partitions));
}

/// The keys that belong to one client: `count` numbers from `first` on.
struct KeySpace {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  std::shared_ptr<const AliasTable> popularity;  ///< of each key, shared; null: uniform

  [[nodiscard]] Key Draw(Random& random) const {
    return Key(first + (popularity ? popularity->Draw(random) : random.Below(count)));
  }
};

}  // namespace stout::sim::internal
