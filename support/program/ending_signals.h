#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>

#include "stout/unique_function.h"

namespace stout::program {

/// Reports the first two signals among SIGINT and SIGTERM to the program. The third signal kills
/// the process, even if no thread runs `context` any more, because the signal handler decides it.
///
/// Owner: one at a time in a process; `context` outlives it. After its destructor, signals kill.
/// Threads: a thread that runs `context` calls `told`, once per signal and one call at a time.
class EndingSignals {
 public:
  /// Throws std::system_error if the process has no file descriptor left.
  EndingSignals(boost::asio::io_context& context, UniqueFunction<void()> told);
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;
  ~EndingSignals();

 private:
  void Await();

  boost::asio::posix::stream_descriptor arrived_;  // A count, in an eventfd.
  UniqueFunction<void()> told_;
  std::uint64_t count_ = 0;
};

}  // namespace stout::program
