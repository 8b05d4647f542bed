#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>

#include "stout/unique_function.h"

namespace stout::blowfish {

/// SIGINT and SIGTERM: the first two are told to the program, whichever of the two they are, and
/// from the second on they do what they do to any program: the third kills it, whatever it is busy
/// with. For that is decided where the signal arrives, and not by a thread that may be stuck.
///
/// Owner: one at a time in a process; `context` outlives it. When it goes, signals kill.
/// Threads: the one that runs `context`, where `told` is called, once a signal.
class EndingSignals {
 public:
  /// Throws, as Asio does, if there is no file left for it.
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

}  // namespace stout::blowfish
