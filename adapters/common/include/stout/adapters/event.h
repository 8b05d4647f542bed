#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "stout/adapters/no_throw.h"

namespace stout {

/// Signals a change. A coroutine that waits for a condition checks it again.
///
///     while (!condition) co_await event.Wait();
///
/// Threads: one, of its executor; between the check and the wait no other coroutine runs.
class Event {
 public:
  explicit Event(const boost::asio::any_io_executor& executor)
      : timer_(executor, std::chrono::steady_clock::time_point::max()) {}

  [[nodiscard]] boost::asio::awaitable<void> Wait() { co_await timer_.async_wait(kNoThrow); }
  void Notify() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;  // Never ends by itself.
};

}  // namespace stout
