#include "program/ending_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace stout::program {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

// The state of the signal handler, which has no object.
std::atomic<int> event_file = -1;
std::atomic<int> signals_left = 0;

void SetAll(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);  // One after the other.
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

// It calls nothing but what signal handlers may.
void OnSignal(int) {
  const int error = errno;
  if (--signals_left == 0) SetAll(SIG_DFL);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_file, &one, sizeof one);
  errno = error;
}

int MakeEventFile() {
  const int file = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  if (file < 0) throw std::system_error(errno, std::system_category(), "eventfd");
  return file;
}

}  // namespace

EndingSignals::EndingSignals(boost::asio::io_context& context, UniqueFunction<void()> told)
    : arrived_(context, MakeEventFile()), told_(std::move(told)) {
  event_file = arrived_.native_handle();
  signals_left = 2;
  SetAll(OnSignal);
  Await();
}

// The file stays open: a handler that runs on another thread may still write to it.
EndingSignals::~EndingSignals() {
  SetAll(SIG_DFL);
  arrived_.release();
}

void EndingSignals::Await() {
  arrived_.async_read_some(boost::asio::buffer(&count_, sizeof count_),
                           [this](boost::system::error_code cancelled, std::size_t) {
                             if (cancelled) return;
                             told_();
                             Await();
                           });
}

}  // namespace stout::program
