#pragma once

#include <string>
#include <string_view>

#include "stout/core/lease_table.h"

namespace stout {

/// Gives each key of a deployment its range. All members of a deployment use the same partition.
/// The lease service stores its name and its number of ranges, and refuses a member with another.
///
/// Owner: value type.   Threads: any.   Errors: cannot fail.
struct Partition {
  /// See LeaseMember::partition. A name means the same function in every version of this library.
  std::string name;
  RangeId ranges;  ///< 1..kMaxRanges
  /// Returns a number below `ranges`.
  RangeId (*range_of)(std::string_view key, RangeId ranges);

  [[nodiscard]] RangeId RangeOf(std::string_view key) const { return range_of(key, ranges); }
};

/// "hash": stout::RangeOf(key, ranges).
[[nodiscard]] Partition HashPartition(RangeId ranges);

/// "slots": slot * ranges / 16384, where slot is the slot of Redis Cluster: CRC16 of the key, or of
/// its {hash tag}, modulo 16384. Requires ranges <= 16384; otherwise some ranges have no keys.
[[nodiscard]] Partition SlotPartition(RangeId ranges);

}  // namespace stout
