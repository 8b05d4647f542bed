#include "stores/trials.h"

#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <stdexcept>

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Until the load begins, so that its coroutine has begun by then.
constexpr std::chrono::milliseconds kHeadStart{5};

/// By Little's law a rate of r with r * 50 ms changes waiting has a mean latency of 50 ms. Four
/// times as many are none that will be answered in time, but more than a moment's pause makes wait.
constexpr double kHopeless = 4;
/// At a low rate, many changes may come at once.
constexpr std::size_t kNotMany = 100;

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Trial RunTrial(Contender& contender, std::size_t documents, double rate, const TrialTimes& times,
               Duration max_p99, std::uint64_t seed, const std::atomic<bool>& interrupted) {
  const std::unique_ptr<Session> session = contender.Begin(seed);
  const LoadSpec load{
      .documents = documents,
      .rate = rate,
      .seed = seed,
      .most_waiting = kNotMany + static_cast<std::size_t>(kHopeless * rate * Seconds(max_p99))};
  OpenLoop users(session->target(), session->executor(), load, interrupted);
  Schedule schedule;
  schedule.start = steady_clock::now() + kHeadStart;
  schedule.from = schedule.start + times.warmup;
  schedule.to = schedule.from + times.measure;
  schedule.give_up = schedule.to + max_p99;
  std::exception_ptr trouble;
  const double cpu_before = CpuSeconds();
  asio::co_spawn(session->executor(), users.Run(schedule), [&](std::exception_ptr thrown) {
    trouble = std::move(thrown);
    session->context().stop();
  });
  session->context().run();
  if (trouble) std::rethrow_exception(trouble);
  const double wall = Seconds(steady_clock::now() - schedule.start);
  return {Summarize({&users.record()}, times.measure), (CpuSeconds() - cpu_before) / wall};
}

void Preload(Contender& contender, std::size_t documents, std::uint64_t seed) {
  const std::unique_ptr<Session> session = contender.Begin(seed);
  std::size_t left = documents;
  ErrorCode trouble;
  asio::post(session->executor(), [&] {
    for (std::size_t i = 0; i < documents; ++i) {
      session->target().Change(i, [&](ErrorCode ec) {
        if (ec) trouble = ec;
        if (--left == 0) session->context().stop();
      });
    }
  });
  session->context().run();
  if (trouble) throw std::runtime_error(contender.Name() + ": " + trouble.message());
}

std::optional<Duration> TimeOneChange(Session& session, std::size_t document, Duration rest,
                                      Duration turn) {
  const auto start = steady_clock::now();
  std::optional<Duration> latency;
  bool answered = false;
  session.context().restart();
  session.context().run_until(start + rest);
  asio::post(session.executor(), [&] {
    const auto due = steady_clock::now();
    session.target().Change(document, [&, due](ErrorCode ec) {
      answered = true;
      if (!ec) latency = steady_clock::now() - due;
    });
  });
  while (!answered) session.context().run_one();
  session.context().run_until(start + turn);
  return latency;
}

}  // namespace stout::bench
