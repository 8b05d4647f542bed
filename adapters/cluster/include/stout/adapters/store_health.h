#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "stout/core/errc.h"
#include "stout/error.h"

namespace stout {

/// Reports how long a store has been unresponsive.
///
/// A store is unresponsive from the first call after its last answer. An answer is any outcome that
/// the store itself decided, a refusal included. A time-out, a lost connection, an overload and
/// kLost are no answers.
///
/// A store that has answered kLost stays unresponsive: it must be opened anew.
///
/// After a call without an answer, the store is unresponsive until a later call is answered. If
/// NeedsProbe() returns true, the caller therefore sends one more call.
///
/// Reads and writes count apart, because a store with a full disk still reads. A fence counts as a
/// read, because a repeated one may write nothing. A new epoch is durable, so it shows that both
/// work.
///
/// Units: time points of the steady clock, passed in and never going back by much.
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Call { kRead, kWrite, kNewEpoch };

  void OnSent(Call call, Clock::time_point now) {
    if (call != Call::kWrite) ++reads_.pending;
    if (call != Call::kRead) ++writes_.pending;
    std::optional<Clock::time_point>& since = call == Call::kRead ? reads_.since : writes_.since;
    if (!since) since = now;
  }
  void OnDone(Call call, ErrorCode ec) {
    if (call != Call::kWrite) --reads_.pending;
    if (call != Call::kRead) --writes_.pending;
    if (last_error_ == Errc::kLost) return;  // calls that had been sent before do not change it
    if (ec == Errc::kTransient || ec == Errc::kUnknown || ec == Errc::kLost) {
      last_error_ = ec;
      return;
    }
    if (call != Call::kWrite) reads_.since.reset();
    if (call != Call::kRead) writes_.since.reset();
    if (!reads_.since && !writes_.since) last_error_ = {};
  }

  /// Returns true if reads, or writes, had no answer, and none of them is under way that could have
  /// one.
  [[nodiscard]] bool NeedsProbe() const { return reads_.NeedProbe() || writes_.NeedProbe(); }

  /// Returns how long the store has been unresponsive; zero if it is not.
  [[nodiscard]] Clock::duration InVain(Clock::time_point now) const {
    return now - std::min(reads_.since.value_or(now), writes_.since.value_or(now));
  }
  /// Returns the outcome of the last call that had no answer. None: no call has ended since the
  /// last answer.
  [[nodiscard]] ErrorCode last_error() const { return last_error_; }

 private:
  struct Calls {
    [[nodiscard]] bool NeedProbe() const { return since && pending == 0; }

    std::optional<Clock::time_point> since;  // since then, these calls have had no answer
    std::size_t pending = 0;                 // new epochs count as both
  };

  Calls reads_;
  Calls writes_;
  ErrorCode last_error_;
};

}  // namespace stout
