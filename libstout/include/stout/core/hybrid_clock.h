#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "stout/core/types.h"

namespace stout::internal {

/// Versions for the changes of one node, if several nodes change the same keys: a hybrid logical
/// clock. A version is a Unix time in microseconds and, in the low ten bits, the node's number. It
/// is higher than each version that was given or seen before, so a change that a node makes after
/// it saw another one wins.
///
/// A node reserves versions in advance, with its number, at a place that all nodes use. Two nodes
/// therefore never give the same version, also if one was restarted or its clock went back. A
/// node without a reservation that is left changes nothing.
///
///     versions.Reserve({.number = 7, .from = former, .until = former + 300'000'000});
///     if (const auto version = versions.Next(now)) Write(key, *version);
///     versions.Observe(shown.stamp.version);
///
/// Owner: a node.   Threads: none of its own.   Errors: none.
/// Source: Kulkarni et al., "Logical Physical Clocks" (OPODIS'14); docs/decisions/0037.
class HybridClock {
 public:
  static constexpr int kNumberBits = 10;
  static constexpr std::uint32_t kNumbers = 1U << kNumberBits;

  /// The versions of this number with times above `from` and up to `until`, in Unix microseconds.
  struct Reservation {
    std::uint32_t number = 0;  ///< < kNumbers
    std::uint64_t from = 0;
    std::uint64_t until = 0;
    /// They may be given until this time of the steady clock. It bounds the time in which a node
    /// uses them, also if the newest version that it saw was ahead of its own clock.
    TimePoint end = TimePoint::max();
  };
  /// Replaces the former reservation.
  void Reserve(const Reservation& reservation) { reservation_ = reservation; }

  /// Returns the version of the next change; nullopt if no reserved one is left, or if the
  /// reservation has ended. `steady_time`: of the clock of Reservation::end.
  [[nodiscard]] std::optional<Version> Next(TimePoint unix_time, TimePoint steady_time = {});
  /// Records that a state with this version exists.
  void Observe(Version version) { newest_ = std::max(newest_, MicrosOf(version)); }

  /// Returns the time in the newest version that was given or seen.
  [[nodiscard]] std::uint64_t newest() const { return newest_; }

  [[nodiscard]] static std::uint64_t MicrosOf(Version version) { return version >> kNumberBits; }
  [[nodiscard]] static std::uint64_t MicrosOf(TimePoint unix_time);
  /// Returns by how much versions grow in this time. >= 0
  [[nodiscard]] static Version VersionsIn(Duration time) {
    return static_cast<Version>(std::chrono::floor<std::chrono::microseconds>(time).count())
           << kNumberBits;
  }

 private:
  Reservation reservation_;
  std::uint64_t newest_ = 0;  // microseconds
};

}  // namespace stout::internal
