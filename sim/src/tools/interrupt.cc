#include "interrupt.h"

#include <csignal>

namespace stout::sim::internal {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // or a handler could not set it

void Handle(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = false;
  previous_ = std::signal(SIGINT, Handle);
}

Interrupt::~Interrupt() { std::signal(SIGINT, previous_); }

const std::atomic<bool>& Interrupt::flag() { return interrupted; }

}  // namespace stout::sim::internal
