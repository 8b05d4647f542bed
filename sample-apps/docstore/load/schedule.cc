#include "load/schedule.h"

#include <cmath>
#include <utility>

#include "stout/core/parse_number.h"
#include "stout/core/policy/basic.h"

namespace stout::load {
namespace {

std::optional<Step> ParseStep(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<Duration> start = ParseDuration(text.substr(0, colon));
  const auto rate = internal::ParseNumber<double>(text.substr(colon + 1));
  if (!start || !rate || !(*rate >= 0 && std::isfinite(*rate))) return std::nullopt;
  return Step{*start, *rate};
}

}  // namespace

std::optional<std::vector<Step>> ParseSteps(std::string_view text) {
  std::vector<Step> steps;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<Step> step = ParseStep(text.substr(0, comma));
    if (!step) return std::nullopt;
    const bool in_order =
        steps.empty() ? step->start == Duration::zero() : step->start > steps.back().start;
    if (!in_order) return std::nullopt;
    steps.push_back(*step);
    if (comma == std::string_view::npos) return steps;
    text.remove_prefix(comma + 1);
  }
}

Duration ImpliedDuration(const std::vector<Step>& steps) {
  const Duration last = steps.back().start;
  return last + (last - steps[steps.size() - 2].start);
}

Schedule::Schedule(std::vector<Step> steps, Duration warmup, Duration end, Arrivals arrivals,
                   std::uint64_t seed)
    : steps_(std::move(steps)),
      end_(end),
      arrivals_(arrivals),
      random_(seed),
      step_start_(-warmup),
      due_(step_start_) {
  Advance();
}

void Schedule::Advance() {
  while (true) {
    const double rate = steps_[step_].rate;
    if (rate > 0) {
      gaps_ += Gap();
      const std::chrono::duration<double> offset(gaps_ / rate);
      // Compared before the cast: a tiny rate gives gaps beyond what nanoseconds hold.
      if (offset < StepEnd() - step_start_) {
        due_ = step_start_ + std::chrono::duration_cast<Duration>(offset);
        return;
      }
    }
    // The rest of the last gap is dropped and the next step draws anew, which is exact for
    // Poisson arrivals: they have no memory.
    if (StepEnd() == end_) break;
    step_start_ = StepEnd();
    gaps_ = 0;
    ++step_;
  }
  due_ = kNever;
}

TimePoint Schedule::StepEnd() const {
  return step_ + 1 < steps_.size() ? TimePoint(steps_[step_ + 1].start) : end_;
}

double Schedule::Gap() {
  return arrivals_ == Arrivals::kUniform ? 1 : -std::log(1 - random_.Unit());
}

}  // namespace stout::load
