#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

#include "stout/unique_function.h"

namespace stout {

/// Runs tasks at their times on an executor, one at a time: in order of due time, equal times in
/// order of scheduling. Stores with simulated latency or faults are built on it.
///
/// Precision is that of the executor's timers, commonly some 50 µs to 1 ms late.
/// Owner: the executor's context must outlive it.
/// Threads: any; a task is never run inside Schedule(), may call it, and must not destroy the
///   queue.
class DelayQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using Task = UniqueFunction<void()>;

  explicit DelayQueue(const boost::asio::any_io_executor& executor);
  DelayQueue(const DelayQueue&) = delete;
  DelayQueue& operator=(const DelayQueue&) = delete;
  /// As Finish().
  ~DelayQueue();

  void Schedule(Clock::time_point due, Task task);

  /// Runs all that waits now, without regard to its time, tasks that these schedule included.
  /// Waits for a task that another thread is running.
  void Finish();

 private:
  class State;
  std::shared_ptr<State> state_;  // Shared with waits that outlive the queue, which keep it weakly.
};

}  // namespace stout
