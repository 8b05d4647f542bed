#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"

namespace stout::internal {

/// Returns 64 - log2(hash) in units of 2^-26, in [1, 2^32]. It uses integers only, so the result is
/// the same in all processes.
constexpr std::uint64_t Remoteness(std::uint64_t hash) {
  hash |= 1;  // zero has no logarithm
  const int exponent = std::bit_width(hash) - 1;
  // The hash without its exponent, in [1, 2), in units of 2^-31. If its square is at least 2, the
  // next binary digit of its logarithm is 1.
  std::uint64_t mantissa = exponent >= 31 ? hash >> (exponent - 31) : hash << (31 - exponent);
  std::uint64_t log2 = static_cast<std::uint64_t>(exponent);
  for (int digit = 0; digit < 26; ++digit) {
    mantissa = (mantissa * mantissa) >> 31;
    const bool one = mantissa >> 32 != 0;
    mantissa >>= one ? 1 : 0;
    log2 = log2 * 2 + (one ? 1 : 0);
  }
  return (std::uint64_t{64} << 26) - log2;
}

}  // namespace stout::internal

namespace stout::inline v1 {

/// Returns the ids of the datalets that should be the members of a range: `replicas` of them, or
/// fewer if there are fewer. The node of the first one owns the range if RightfulOwners agrees,
/// which it does for most ranges if capacities are equal. `live`: the datalets that can be used. A
/// datalet that is leaving, is lazy or has capacity 0 gets no range.
///
/// Weighted rendezvous hashing (Wang and Ravishankar 2009; Schindelhauer and Schomaker 2005): with
/// h = Mix(NameHash(id) ^ Mix(range)) / 2^64, datalets are ordered by -log(h) / capacity, then by
/// id. A datalet is first with probability capacity / sum of capacities. If one comes or goes, the
/// order of the others stays, so only its own ranges move. The result is the same in every process
/// and in every version of this library.
[[nodiscard]] std::vector<std::string> PlaceRange(
    RangeId range, const std::map<std::string, Recorded<Datalet>>& live, std::size_t replicas);

/// A function in the place of PlaceRange, for a rule of your own: members in different zones, or
/// near their users.
///
/// `live` also has members that are gone and may come back; of these only the id may be known. The
/// function should pass over the same datalets as PlaceRange. The caller ignores ids that are not
/// in `live`, repetitions, and ids beyond `replicas`. If too few are left, it adds the next ones by
/// PlaceRange, so that a range always has its replicas.
///
/// Threads: any; each owner calls it for its ranges when datalets come and go, so its result
/// depends on the arguments alone. It returns soon, and does not throw.
using Placement = std::function<std::vector<std::string>(
    RangeId range, const std::map<std::string, Recorded<Datalet>>& live, std::size_t replicas)>;

}  // namespace stout::inline v1
