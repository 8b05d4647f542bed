#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// Index of a range. The keys of a deployment are divided into a fixed number of ranges. A range
/// has at most one owner at a time.
using RangeId = std::uint32_t;

/// Maximum number of ranges of a deployment. It exceeds any sensible number.
inline constexpr RangeId kMaxRanges = 65536;

/// Name of the partition whose function is RangeOf. A deployment that records no name has this one.
inline constexpr std::string_view kHashPartition = "hash";

/// Returns true if the function of a partition is RangeOf. Deployments whose servers must not mix
/// use different names, such as "hash/members".
[[nodiscard]] constexpr bool IsHashPartition(std::string_view name) {
  return name == kHashPartition || name.starts_with("hash/");
}

[[nodiscard]] constexpr bool IsPartitionName(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  for (const char c : name) {
    if (c <= ' ' || c >= 127) return false;
  }
  return true;
}

/// Names one incarnation of a member, unique within a lease service for ever. Zero means "none".
using SessionId = std::uint64_t;

/// The owner of a range, and its fencing token.
struct Lease {
  std::string address;  ///< of the server, as in its LeaseMember
  SessionId session = 0;
  Epoch epoch = 0;

  bool operator==(const Lease&) const = default;
};

/// The members and owners that a lease service knows at one moment.
struct LeaseTable {
  std::vector<std::string> members;  ///< addresses of live sessions, sorted, each once
  /// By RangeId; nullopt: the range is free. Empty until the first member joins.
  std::vector<std::optional<Lease>> ranges;
  /// Name of the function that gives each key its range. It has a meaning if `ranges` is not empty.
  std::string partition{kHashPartition};

  bool operator==(const LeaseTable&) const = default;
};

}  // namespace stout::inline v1

namespace stout::internal {

/// Mixes the bits of `z`: every bit of the result depends on every bit of `z`. It is the output
/// function of SplitMix64.
constexpr std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo), mixed: the low bits of FNV alone are weak.
constexpr std::uint64_t NameHash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return Mix(hash);
}

}  // namespace stout::internal

namespace stout::inline v1 {

/// Returns the range of a name: Mix(FNV-1a(name)) modulo `ranges`. Requires ranges >= 1.
///
/// The result is the same in every process and in every version of this library. Otherwise two
/// servers could both act as the owner of one key.
constexpr RangeId RangeOf(std::string_view name, RangeId ranges) {
  return static_cast<RangeId>(internal::NameHash(name) % ranges);
}

/// Returns which member should own each range, by RangeId, as an index in `members`. `members`: as
/// in LeaseTable. Returns an empty vector if `members` is empty.
///
/// The shares of two members differ by at most one range. If ranges are left over, the members with
/// the highest NameHash get one more each. Rendezvous hashing (Thaler and Ravishankar 1998) gives
/// each pair of a member and a range a weight, Mix(NameHash(member) ^ Mix(range)). The rule takes
/// all pairs of a member and a range by falling weight. A pair counts if the range is free and the
/// member has room. The result is the only stable assignment (Gale and Shapley 1962), because both
/// sides go by the same weights. When a member joins or leaves, few ranges move, but some move
/// between two members that stay.
///
/// The result is the same in every process, and must be the same in every later version of this
/// library. While two servers disagree about the owner of a range, the range may be free.
[[nodiscard]] std::vector<std::size_t> RightfulOwners(const std::vector<std::string>& members,
                                                      RangeId ranges);

}  // namespace stout::inline v1
