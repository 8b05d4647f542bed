#include "tests/integration/fault_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/load/chaos_client.h"

namespace stout::test {

using std::chrono::milliseconds;

void FaultSchedule::Add(std::string kind, std::vector<std::size_t> targets, Strike strike,
                        std::function<bool()> possible) {
  kinds_.push_back({std::move(kind), std::move(targets), std::move(strike), std::move(possible)});
}

void FaultSchedule::RunFor(milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  Shuffle();
  while (Clock::now() < end) {
    StrikeOne();
    Pass(Random(milliseconds(200), milliseconds(2500)));
  }
  while (!steps_.empty()) Pass(milliseconds(100));
}

milliseconds FaultSchedule::Random(milliseconds low, milliseconds high) {
  return low + milliseconds(random_.Below(static_cast<std::uint64_t>((high - low).count())));
}

void FaultSchedule::Shuffle() {
  for (std::size_t i = kinds_.size(); i > 1; --i)
    std::swap(kinds_[i - 1], kinds_[random_.Below(i)]);
}

void FaultSchedule::Say(const std::string& what) {
  log_ << fmt::format("{:>15} ns  {}\n", ChaosNow(), what) << std::flush;
}

void FaultSchedule::Later(milliseconds after, Step step) {
  steps_.emplace(Clock::now() + after, std::move(step));
}

void FaultSchedule::Pass(milliseconds time) {
  for (const Clock::time_point until = Clock::now() + time; Clock::now() < until;) {
    while (!steps_.empty() && steps_.begin()->first <= Clock::now())
      steps_.extract(steps_.begin()).mapped()();
    keep_up_();
    std::this_thread::sleep_for(milliseconds(20));  // the resolution of the schedule
  }
}

// Strikes with the kind of fault that has waited longest and can strike now. If one was passed over
// often, the others wait for it: a busy machine may never be at rest between them.
void FaultSchedule::StrikeOne() {
  const bool is_late = passed_over_ > 3 * kinds_.size();
  const auto end = is_late ? kinds_.begin() + 1 : kinds_.end();
  for (auto kind = kinds_.begin(); kind != end; ++kind) {
    const std::size_t target = kind->targets[random_.Below(kind->targets.size())];
    if (busy_.contains(target) || !kind->possible()) continue;
    busy_.insert(target);
    passed_over_ = kind == kinds_.begin() ? 0 : passed_over_ + 1;
    const std::string what = fmt::format("{}, target {}", kind->name, target);
    Say(what);
    struck_.insert(kind->name);
    const Strike strike = kind->strike;
    std::rotate(kind, kind + 1, kinds_.end());
    strike(target, [this, what, target] {
      Say("end of " + what);
      busy_.erase(target);
    });
    return;
  }
}

}  // namespace stout::test
