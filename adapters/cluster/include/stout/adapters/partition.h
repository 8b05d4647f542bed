#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/error.h"

namespace stout {

/// Gives each key of a deployment its range. All members of a deployment use the same partition.
/// The lease service stores its name and its number of ranges, and refuses a member with another.
///
/// Owner: value type.   Threads: any.   Errors: ParseIntervals returns them; nothing else fails.
struct Partition {
  /// See LeaseMember::partition. A name means the same function in every version of this library.
  std::string name;
  RangeId ranges;  ///< 1..kMaxRanges
  /// Returns a number below `ranges`. Null: a range is an interval of keys.
  RangeId (*range_of)(std::string_view key, RangeId ranges);
  /// If ranges are intervals: the first key of each range but the first one, in order.
  std::vector<std::string> bounds{};

  [[nodiscard]] bool intervals() const { return range_of == nullptr; }
  [[nodiscard]] RangeId RangeOf(std::string_view key) const;
  /// Returns a filter for the keys of a range, which is below `ranges`. It does not refer to this,
  /// and has at most two of the bounds.
  [[nodiscard]] KeyFilter KeysOf(RangeId range) const;
  /// Returns the slots of a range, which is below `ranges`; nullopt unless this is a SlotPartition.
  /// A range without keys has a `last` before its `first`.
  [[nodiscard]] std::optional<HashSlots> SlotsOf(RangeId range) const;
};

/// "hash": stout::RangeOf(key, ranges).
[[nodiscard]] Partition HashPartition(RangeId ranges);

/// "slots": slot * ranges / 16384, where slot is the slot of Redis Cluster: CRC16 of the key, or of
/// its {hash tag}, modulo 16384. Requires ranges <= 16384; otherwise some ranges have no keys.
[[nodiscard]] Partition SlotPartition(RangeId ranges);

/// "range:K1,K2,...": range 0 has the keys before K1, range 1 those from K1 up to K2, and so on. In
/// the name, %XX is a byte of a key in hexadecimal digits; ',', '%' and all bytes but printable
/// ASCII are written so. Without keys there is one range.
[[nodiscard]] Partition IntervalPartition(std::vector<std::string> bounds);

/// Reads the name of an IntervalPartition. Errors: kBadOptions if it is malformed, too long, or its
/// keys are not in order; `diagnostics` then has the cause.
[[nodiscard]] Result<Partition> ParseIntervals(std::string_view name,
                                               Diagnostics* diagnostics = nullptr);
/// Returns true if a name begins like that of an IntervalPartition.
[[nodiscard]] bool IsIntervals(std::string_view name);

}  // namespace stout
