#include "shard/timing.h"

#include <time.h>

#include <algorithm>
#include <chrono>

namespace stout::bench::shard {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double SecondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double Least(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

// How many of the calls come to their end in the time.
std::size_t CallsWithin(const Call& call, std::size_t calls, double seconds) {
  constexpr std::size_t kCallsALook = 16;  // at the clock
  const Clock::time_point start = Clock::now();
  std::size_t done = 0;
  do {
    const std::size_t end = std::min(calls, done + kCallsALook);
    for (; done < end; ++done) call(done);
  } while (done < calls && SecondsSince(start) < seconds);
  return done;
}

void RunBatch(const Call& call, std::size_t calls, Timing& timing) {
  const Clock::time_point start = Clock::now();
  const double cpu_start = ThreadCpuSeconds();
  for (std::size_t i = 0; i < calls; ++i) call(i);
  timing.cpu_s.push_back(ThreadCpuSeconds() - cpu_start);
  timing.wall_s.push_back(SecondsSince(start));
}

void RecordLatencies(const Call& call, std::size_t calls, Timing& timing) {
  for (std::size_t i = 0; i < calls; ++i) {
    const Clock::time_point start = Clock::now();
    call(i);
    timing.call_latency.Record(std::chrono::duration_cast<Duration>(Clock::now() - start));
  }
}

}  // namespace

double Median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

double ThreadCpuSeconds() { return SecondsOf(CLOCK_THREAD_CPUTIME_ID); }
double ProcessCpuSeconds() { return SecondsOf(CLOCK_PROCESS_CPUTIME_ID); }

double Timing::BestPerCpuSecond() const { return static_cast<double>(operations) / Least(cpu_s); }
double Timing::MedianPerCpuSecond() const {
  return static_cast<double>(operations) / Median(cpu_s);
}
double Timing::BestPerSecond() const { return static_cast<double>(operations) / Least(wall_s); }
double Timing::MedianPerSecond() const { return static_cast<double>(operations) / Median(wall_s); }

std::vector<Timing> MeasureInTurns(const std::vector<Call>& contenders, const Batch& batch,
                                   std::size_t repeats) {
  std::vector<Timing> timings(contenders.size());
  std::vector<std::size_t> calls(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    calls[i] = CallsWithin(contenders[i], batch.calls, batch.longest_s);
    timings[i].operations = calls[i] * batch.operations_per_call;
  }
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      RunBatch(contenders[i], calls[i], timings[i]);
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    RecordLatencies(contenders[i], calls[i], timings[i]);
  }
  return timings;
}

}  // namespace stout::bench::shard
