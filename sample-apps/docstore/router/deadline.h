#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "http/listener.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// Ends an operation that takes too long: calls `on_expiry` when its time is over, and again every
/// kAgain until it is set anew or cleared.
///
/// The repetition is for operations that consist of several, such as the read of a header. When
/// `on_expiry` cancels what is pending, one part may just have ended, and the next has not begun.
///
/// Owner: a session. Once it is clear it may be destroyed anywhere, before that only on the
///   session's strand. No call follows.
/// Threads: the strand.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  /// A guess: such a delay does no harm after a time-out of seconds, and costs little.
  static constexpr std::chrono::milliseconds kAgain{50};

  Deadline(const http::SessionStrand& strand, UniqueFunction<void()> on_expiry)
      : state_(std::make_shared<State>(strand, std::move(on_expiry))) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() {
    if (state_->due != Clock::time_point::max()) Clear();
  }

  /// From now on; replaces the time that was given before.
  void Set(std::chrono::nanoseconds time) { SetAt(Clock::now() + time); }
  void SetAt(Clock::time_point due) {
    state_->passed = false;
    state_->due = due;
    State::WaitUntil(due, state_);
  }
  /// No later than this.
  void Shorten(std::chrono::nanoseconds time) {
    if (Clock::now() + time < state_->due) Set(time);
  }
  void Clear() {
    state_->due = Clock::time_point::max();
    state_->timer.cancel();
  }

  [[nodiscard]] Clock::time_point due() const { return state_->due; }
  /// Returns true if the latest given time has passed.
  [[nodiscard]] bool passed() const { return state_->passed; }

 private:
  struct State {
    using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>,
                                                    http::SessionStrand>;

    State(const http::SessionStrand& strand, UniqueFunction<void()> on_expiry)
        : timer(strand), on_expiry(std::move(on_expiry)) {}

    static void WaitUntil(Clock::time_point time, const std::shared_ptr<State>& state) {
      state->timer.expires_at(time);
      state->timer.async_wait([state](boost::system::error_code ec) {
        // The handler may be on its way already when the time is changed.
        if (ec || Clock::now() < state->due) return;
        state->passed = true;
        state->on_expiry();
        WaitUntil(Clock::now() + kAgain, state);
      });
    }

    Timer timer;
    UniqueFunction<void()> on_expiry;
    Clock::time_point due = Clock::time_point::max();
    bool passed = false;
  };

  std::shared_ptr<State> state_;  // shared with the handler of the wait
};

}  // namespace stout::docstore
