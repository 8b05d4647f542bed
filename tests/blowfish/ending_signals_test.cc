#include "ending_signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <optional>

namespace stout::blowfish {
namespace {

// How a process ends that gets so many signals while its only thread never runs the context.
int EndOfStuckProcess(int signals) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    boost::asio::io_context context;
    const EndingSignals ending(context, [] { ::_exit(3); });
    for (int i = 0; i < signals; ++i) ::raise(i % 2 == 0 ? SIGTERM : SIGINT);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE("a third signal kills, whatever the process is busy with") {
  const int after_two = EndOfStuckProcess(2);
  CHECK((WIFEXITED(after_two) && WEXITSTATUS(after_two) == 0));
  const int after_three = EndOfStuckProcess(3);
  CHECK((WIFSIGNALED(after_three) && WTERMSIG(after_three) == SIGTERM));
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
}  // namespace stout::blowfish
