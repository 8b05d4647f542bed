#include "load/interrupts.h"

#include <csignal>

namespace stout::bench {
namespace {

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

}  // namespace

const std::atomic<bool>& CatchInterrupts() {
  const auto handler = [](int signal) {
    g_interrupted = true;
    std::signal(signal, SIG_DFL);
  };
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  return g_interrupted;
}

}  // namespace stout::bench
