#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "stout/core/types.h"
#include "stout/error.h"

namespace stout::internal {

/// The clock of a driver and its one timer.
///
/// The time is Unix time that never steps: the system clock, read once, plus the time that the
/// steady clock has counted since. Later corrections of the system clock have no effect.
///
/// Owner: a driver.   Threads: its strand.
class WakeTimer {
 public:
  explicit WakeTimer(const boost::asio::any_io_executor& strand) : timer_(strand) {}

  [[nodiscard]] TimePoint Now() const {
    return TimePoint(unix_start_ + (Steady::now() - steady_start_));
  }

  /// Calls `fire` at `next`, unless a later call of Arm replaces it. `fire` must keep the driver
  /// alive.
  template <typename Fire>
  void Arm(TimePoint next, Fire fire) {
    if (next == kNever) {  // an idle driver must not keep its context running
      if (armed_ != kNever) timer_.cancel();
      armed_ = kNever;
      return;
    }
    next = std::min(next, Now() + kLongestWait);
    if (next < armed_) {  // it is never moved back, because firing early costs one idle turn only
      armed_ = next;
      timer_.expires_at(steady_start_ + (next.time_since_epoch() - unix_start_));
      timer_.async_wait([this, fire = std::move(fire)](ErrorCode ec) mutable {
        if (ec) return;
        armed_ = kNever;
        fire();
      });
    }
  }

 private:
  using Steady = std::chrono::steady_clock;

  /// The longest single wait. Without it, the expiry of a very distant time would overflow.
  static constexpr Duration kLongestWait = std::chrono::hours(24);

  boost::asio::steady_timer timer_;
  Steady::time_point steady_start_ = Steady::now();
  Duration unix_start_ = std::chrono::system_clock::now().time_since_epoch();
  TimePoint armed_ = kNever;
};

}  // namespace stout::internal
