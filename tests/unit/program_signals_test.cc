#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <functional>
#include <optional>

#include "program/ending_signals.h"
#include "program/interrupt.h"
#include "tests/support/catch.h"

namespace stout::program {
namespace {

// How a child process ends that executes `body`, and then exits with 0.
int EndOfChild(const std::function<void()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

// How a process ends that gets this number of signals while its only thread never runs the context.
int EndOfStuckProcess(int signals) {
  return EndOfChild([signals] {
    boost::asio::io_context context;
    const EndingSignals ending(context, [] { ::_exit(3); });
    for (int i = 0; i < signals; ++i) ::raise(i % 2 == 0 ? SIGTERM : SIGINT);
  });
}

bool KilledBy(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

TEST_CASE("a first signal sets the flag, and a second one of either kind kills") {
  CHECK(EndOfChild([] {
          const Interrupt interrupt;
          ::raise(SIGTERM);
          if (!Interrupt::flag()) ::_exit(3);
        }) == 0);
  CHECK(KilledBy(EndOfChild([] {
                   const Interrupt interrupt;
                   ::raise(SIGTERM);
                   ::raise(SIGINT);
                 }),
                 SIGINT));
}

#ifndef STOUT_TSAN  // it delivers signals late, one after the other
TEST_CASE("two signals that come at once kill") {
  const int status = EndOfChild([] {
    const Interrupt interrupt;
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, nullptr);
    ::raise(SIGINT);
    ::raise(SIGTERM);
    sigprocmask(SIG_UNBLOCK, &both, nullptr);
  });
  CHECK(WIFSIGNALED(status));
}
#endif

TEST_CASE("the flag of an interrupt is new each time, and former handlers come back") {
  std::signal(SIGTERM, SIG_IGN);
  {
    const Interrupt interrupt;
    ::raise(SIGINT);
    CHECK(Interrupt::flag());
  }
  CHECK(std::signal(SIGTERM, SIG_DFL) == SIG_IGN);
  const Interrupt interrupt;
  CHECK_FALSE(Interrupt::flag());
}

TEST_CASE("a third signal kills, whatever the process is busy with") {
  const int after_two = EndOfStuckProcess(2);
  CHECK((WIFEXITED(after_two) && WEXITSTATUS(after_two) == 0));
  const int after_three = EndOfStuckProcess(3);
  CHECK(KilledBy(after_three, SIGTERM));
}

TEST_CASE("two signals are told, each once") {
  boost::asio::io_context context;
  int told = 0;
  std::optional<EndingSignals> ending(std::in_place, context, [&] { ++told; });
  context.poll();
  CHECK(told == 0);
  ::raise(SIGTERM);
  context.poll();
  CHECK(told == 1);
  ::raise(SIGINT);
  context.poll();
  CHECK(told == 2);
  ending.reset();
  struct sigaction action = {};
  REQUIRE(::sigaction(SIGTERM, nullptr, &action) == 0);
  CHECK(action.sa_handler == SIG_DFL);
}

}  // namespace
}  // namespace stout::program
