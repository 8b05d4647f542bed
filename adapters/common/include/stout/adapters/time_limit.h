#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <utility>

#include "stout/core/types.h"
#include "stout/unique_function.h"

namespace stout {

/// Limits the time of a coroutine's next operation:
///
///     const TimeLimit limit(strand, timeout, [this] { socket_.close(); });
///     ... co_await socket_.async_wait(...);   // fails once the time is over
///
/// It is cheaper than a wait for a timer beside the operation, which takes a coroutine for each.
///
/// Threads: made, used and destroyed on `strand`, where `expire` runs too. The objects that
///   `expire` refers to must live as long as the limit.
class TimeLimit {
 public:
  TimeLimit(const boost::asio::any_io_executor& strand, Duration timeout,
            UniqueFunction<void()> expire)
      : state_(std::make_shared<State>(
            State{boost::asio::steady_timer(strand, timeout), std::move(expire), false})) {
    state_->timer.async_wait([state = state_](boost::system::error_code) {
      if (!state->expire) return;
      state->passed = true;
      std::exchange(state->expire, {})();
    });
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit() {
    state_->expire = {};
    state_->timer.cancel();
  }

  [[nodiscard]] bool passed() const { return state_->passed; }

 private:
  struct State {
    boost::asio::steady_timer timer;
    UniqueFunction<void()> expire;
    bool passed;
  };
  std::shared_ptr<State> state_;  // Also of the timer's handler.
};

}  // namespace stout
