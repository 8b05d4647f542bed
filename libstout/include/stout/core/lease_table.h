#pragma once

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
  std::vector<std::optional<Lease>>
      ranges;  ///< by RangeId; nullopt: free; empty until the first member joins
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

/// Returns the member that should own a range: the one with the highest weight (rendezvous hashing,
/// Thaler and Ravishankar 1998). When a member joins or leaves, only its own ranges move.
/// `members`: as in LeaseTable. Returns null if there are none.
[[nodiscard]] constexpr const std::string* RightfulOwner(const std::vector<std::string>& members,
                                                         RangeId range) {
  const std::string* best = nullptr;
  std::uint64_t best_weight = 0;
  for (const std::string& member : members) {
    const std::uint64_t weight = internal::Mix(internal::NameHash(member) ^ internal::Mix(range));
    if (best == nullptr || weight > best_weight) {
      best = &member;
      best_weight = weight;
    }
  }
  return best;
}

}  // namespace stout::inline v1
