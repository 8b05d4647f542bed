#pragma once

#include <algorithm>
#include <atomic>

#include "stout/core/types.h"

namespace stout::blowfish {

/// The time that a worker spent on reads, the one under way included.
///
/// Threads: the worker calls Begin(), End() and Forget(); any thread may call the other members.
class ReadTime {
 public:
  /// Requires that no read is under way.
  void Begin(TimePoint now) { since_.store(now.time_since_epoch().count(), kRelease); }
  /// Requires that one is.
  void End(TimePoint now) {
    const Duration::rep since = since_.load(std::memory_order_relaxed);
    // In this order, so that no reader counts a read twice. It may miss one that ends meanwhile.
    since_.store(kNone, kRelease);
    ended_.store(ended_.load(std::memory_order_relaxed) + now.time_since_epoch().count() - since,
                 kRelease);
  }

  /// Likewise: it was not worth to be counted.
  void Forget() { since_.store(kNone, kRelease); }

  /// Returns the time of the reads that have ended.
  [[nodiscard]] Duration Ended() const { return Duration(ended_.load(kAcquire)); }
  /// Includes the read under way. It may be less than an earlier result, if a read ends meanwhile.
  [[nodiscard]] Duration Total(TimePoint now) const {
    const Duration ended = Ended();
    const Duration::rep since = since_.load(kAcquire);
    if (since == kNone) return ended;
    return ended + std::max(now - TimePoint(Duration(since)), Duration());
  }

 private:
  static constexpr auto kAcquire = std::memory_order_acquire;
  static constexpr auto kRelease = std::memory_order_release;
  static constexpr Duration::rep kNone = Duration::min().count();

  std::atomic<Duration::rep> since_ = kNone;
  std::atomic<Duration::rep> ended_ = 0;
};

}  // namespace stout::blowfish
