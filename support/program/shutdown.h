#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <string>

#include "program/ending_signals.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::program {

/// From the first SIGINT or SIGTERM to the end of the process: an orderly drain, which a second
/// signal or the timeout cuts short. A third signal kills.
///
/// Owner: outlives the run() of `context`.   Threads: Wait() blocks its caller.
class Shutdown {
 public:
  using Step = std::function<void(UniqueFunction<void(ErrorCode)> done)>;

  /// `drain` ends in order, and `close` at once; each calls `done` when it has.
  Shutdown(boost::asio::io_context& context, std::chrono::nanoseconds timeout, Step drain,
           Step close);

  /// Returns true once a signal has come.
  [[nodiscard]] bool begun() const { return draining_; }
  /// The exit code of the process, once it may end.
  [[nodiscard]] int Wait() { return code_.get_future().get(); }

 private:
  void OnSignal();
  void Drain();
  void Cut(const std::string& why);
  // One way to end wins.
  bool Claim() { return !ending_.exchange(true); }

  const std::chrono::nanoseconds timeout_;
  const Step drain_;
  const Step close_;
  boost::asio::steady_timer timer_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> ending_ = false;
  std::promise<int> code_;
  EndingSignals signals_;
};

}  // namespace stout::program
