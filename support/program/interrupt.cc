#include "program/interrupt.h"

namespace stout::program {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

// Calls nothing but what a signal handler may call.
void OnInterrupt(int signal) {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  // Two that arrive at once both have this handler.
  if (interrupted.exchange(true)) std::raise(signal);
}

// Before the first handler is there: a signal between the two is not forgotten.
void (*CatchFirst(int signal))(int) {
  interrupted = false;
  return std::signal(signal, OnInterrupt);
}

}  // namespace

Interrupt::Interrupt()
    : former_int_(CatchFirst(SIGINT)), former_term_(std::signal(SIGTERM, OnInterrupt)) {}

Interrupt::~Interrupt() {
  std::signal(SIGINT, former_int_);
  std::signal(SIGTERM, former_term_);
}

const std::atomic<bool>& Interrupt::flag() { return interrupted; }

}  // namespace stout::program
