#include "shard/timing.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

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

/// A contender, and its place in the batch. A contender that runs only a part of the batch each
/// time continues with the next part, so that its caches are as cold as those of the others.
class Contender {
 public:
  Contender(const Call& call, const Batch& batch)
      : call_(call), batch_(batch), calls_(batch.calls) {}

  // From now on, a run is as many calls as it takes to fill the longest time, or all.
  void FindLength() {
    const Clock::time_point start = Clock::now();
    std::size_t done = 0;
    do {
      CallNext();
    } while (++done < batch_.calls && SecondsSince(start) < batch_.longest_s);
    calls_ = done;
    timing_.operations = calls_ * batch_.operations_per_call;
  }

  void Run() {
    const Clock::time_point start = Clock::now();
    const double cpu_start = ThreadCpuSeconds();
    for (std::size_t i = 0; i < calls_; ++i) CallNext();
    timing_.cpu_s.push_back(ThreadCpuSeconds() - cpu_start);
    timing_.wall_s.push_back(SecondsSince(start));
  }

  void RecordLatencies() {
    for (std::size_t i = 0; i < calls_; ++i) {
      const Clock::time_point start = Clock::now();
      CallNext();
      timing_.call_latency.Record(std::chrono::duration_cast<Duration>(Clock::now() - start));
    }
  }

  [[nodiscard]] Timing&& TakeTiming() { return std::move(timing_); }

 private:
  void CallNext() {
    call_(next_);
    if (++next_ == batch_.calls) next_ = 0;
  }

  const Call& call_;
  const Batch& batch_;
  std::size_t calls_;  // of a run
  std::size_t next_ = 0;
  Timing timing_;
};

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

std::vector<Timing> MeasureInTurns(const std::vector<Call>& calls, const Batch& batch,
                                   std::size_t repeats) {
  std::vector<Contender> contenders;
  for (const Call& call : calls) contenders.emplace_back(call, batch).FindLength();
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    for (Contender& contender : contenders) contender.Run();
  }
  std::vector<Timing> timings;
  for (Contender& contender : contenders) {
    contender.RecordLatencies();
    timings.push_back(contender.TakeTiming());
  }
  return timings;
}

}  // namespace stout::bench::shard
