#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "stout/clock.h"
#include "stout/core/hybrid_clock.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The HybridClock of a node, for all shared ranges that it writes to.   Threads: any.
class NodeClock {
 public:
  void Reserve(const internal::HybridClock::Reservation& reservation) {
    const std::lock_guard lock(mutex_);
    clock_.Reserve(reservation);
  }
  [[nodiscard]] std::optional<Version> Next() {
    const std::lock_guard lock(mutex_);
    return clock_.Next(UnixTime(), SteadyNow());
  }
  void Observe(Version version) {
    const std::lock_guard lock(mutex_);
    clock_.Observe(version);
  }
  /// Returns the present time, or that of the newest version if it is later, in microseconds.
  [[nodiscard]] std::uint64_t Present() const {
    const std::lock_guard lock(mutex_);
    return std::max(clock_.newest(), internal::HybridClock::MicrosOf(UnixTime()));
  }

 private:
  mutable std::mutex mutex_;
  internal::HybridClock clock_;
};

}  // namespace stout::inline v1
