#pragma once

#include <atomic>

namespace stout::sim::internal {

/// While it lives, the first SIGINT sets its flag; a second one ends the program. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] static const std::atomic<bool>& flag();

 private:
  void (*previous_)(int);
};

}  // namespace stout::sim::internal
