#pragma once

#include <atomic>
#include <csignal>

namespace stout::program {

/// While it exists, the first SIGINT or SIGTERM sets the flag, so that the program ends its work in
/// order. The second signal kills the process.
///
/// Owner: one at a time in a process. Its destructor restores the former handlers.
/// Threads: any thread reads the flag.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] static const std::atomic<bool>& flag();

 private:
  using Handler = void (*)(int);
  const Handler former_int_;
  const Handler former_term_;
};

}  // namespace stout::program
