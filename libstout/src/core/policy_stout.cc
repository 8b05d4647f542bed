#include <algorithm>
#include <cmath>
#include <vector>

#include "core/policy_options.h"
#include "stout/core/policy/stout.h"

namespace stout::inline v1 {
namespace {

using namespace std::chrono_literals;
using StoutOption = internal::PolicyOption<StoutOptions>;

std::span<const StoutOption> StoutTable() {
  static const std::vector<StoutOption> table = {
      {"alpha", &StoutOptions::alpha, 0.0, 10.0, "a back-off lengthens the interval by this share"},
      {"beta", &StoutOptions::beta, 0.0, 1.0, "weight of the root in an acceleration"},
      {"weight", &StoutOptions::weight, 0.0001, 1.0, "weight of the newest batch in the averages"},
      {"tolerance", &StoutOptions::tolerance, 0.0, 0.99,
       "a loss of performance up to this share is noise"},
      {"window_batches", &StoutOptions::window_batches, 1, Stout::kMaxWindowBatches,
       "batches of which the best counts after an acceleration"},
      {"unit", &StoutOptions::unit, 1us, 1s, "unit of the interval under the root"},
      {"floor", &StoutOptions::floor, 1us, 10s, "shortest interval"},
      {"ceiling", &StoutOptions::ceiling, 1us, 60s, "longest interval"},
      {"start", &StoutOptions::start, 1us, 60s, "interval before the first batch"},
      {"guard_in_flight", &StoutOptions::guard_in_flight,
       "bounds the batches in flight by in_flight"},
      {"in_flight", &StoutOptions::in_flight, 1, 1'000'000, "batches in flight, if bounded"},
      {"guard_round_trip", &StoutOptions::guard_round_trip,
       "at most one change of the interval per round trip"},
      {"guard_idle", &StoutOptions::guard_idle,
       "no change by a batch that the interval did not hold back"},
      {"guard_failed", &StoutOptions::guard_failed,
       "a failed batch is a reason to back off, not a measurement"},
      {"guards",
       {&StoutOptions::guard_in_flight, &StoutOptions::guard_round_trip, &StoutOptions::guard_idle,
        &StoutOptions::guard_failed},
       "all four guards; off: the law as published"},
  };
  return table;
}

double Nanoseconds(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

double RootIn(Duration unit, double interval_ns) {
  return std::sqrt(interval_ns / Nanoseconds(unit)) * Nanoseconds(unit);
}

std::optional<StoutOptions> ReadStoutOptions(std::string_view text, std::string& error) {
  auto options = internal::ReadPolicyOptions(StoutTable(), text, error);
  if (options && options->ceiling < options->floor) {
    error = "does not accept a ceiling below its floor: raise ceiling or lower floor";
    return std::nullopt;
  }
  return options;
}

std::string DescribeStoutOptions() { return internal::DescribePolicyOptions(StoutTable()); }

std::string Stout::Name() const { return internal::PolicyName("stout", StoutTable(), options_); }

Stout::Stout(const StoutOptions& options) : options_(options) {
  steps_[0].interval = std::clamp(options.start, options.floor, options.ceiling);
}

Decision Stout::Decide() const {
  return {.interval = interval(),
          .window = options_.guard_in_flight ? options_.in_flight : Decision::kUnlimited};
}

Decision Stout::Observe(const BatchSample& sample) {
  const bool stale = options_.guard_round_trip && sample.sent < steps_[newest_step_].since;
  if (options_.guard_failed && sample.errc != Errc::kOk) {
    if (!stale && sample.errc != Errc::kTooLarge) BackOff(sample.done);
    return Decide();
  }
  const Duration interval = IntervalAt(sample.sent);
  const bool idle = options_.guard_idle && sample.oldest_wait < sample.spacing - interval;
  if (idle) return Decide();

  const auto items = static_cast<double>(sample.items);
  const double latency = Nanoseconds(sample.latency());
  const double perf = items / (latency + Nanoseconds(interval));
  const bool first = recorded_ == 0;
  const double recent = Recent();
  Record(items, latency, Nanoseconds(interval));
  if (first || stale) return Decide();
  perf < recent*(1 - options_.tolerance) ? BackOff(sample.done) : Accelerate(sample.done);
  return Decide();
}

Duration Stout::IntervalAt(TimePoint sent) const {
  std::size_t step = newest_step_;
  for (std::size_t back = 1; back < steps_.size() && steps_[step].since > sent; ++back) {
    step = (newest_step_ + steps_.size() - back) % steps_.size();
  }
  // If the batch is older than all kept steps, or than the first step, the oldest step applies.
  return steps_[step].interval > Duration::zero() ? steps_[step].interval : interval();
}

double Stout::Recent() const {
  if (recorded_ == 0) return 0;
  if (backed_off_) return mean_items_ / (mean_latency_ + mean_interval_);
  const std::uint64_t used = std::min<std::uint64_t>(recorded_, options_.window_batches);
  return *std::max_element(perfs_.begin(), perfs_.begin() + static_cast<std::ptrdiff_t>(used));
}

void Stout::Record(double items, double latency, double interval) {
  const double weight = recorded_ == 0 ? 1 : options_.weight;
  mean_items_ += weight * (items - mean_items_);
  mean_latency_ += weight * (latency - mean_latency_);
  mean_interval_ += weight * (interval - mean_interval_);
  perfs_[recorded_ % options_.window_batches] = items / (latency + interval);
  ++recorded_;
}

void Stout::BackOff(TimePoint now) {
  backed_off_ = true;
  SetInterval((1 + options_.alpha) * Nanoseconds(interval()), now);
}

void Stout::Accelerate(TimePoint now) {
  backed_off_ = false;
  const double i = Nanoseconds(interval());
  SetInterval((1 - options_.beta) * i + options_.beta * RootIn(options_.unit, i), now);
}

void Stout::SetInterval(double nanoseconds, TimePoint now) {
  const Duration next(static_cast<Duration::rep>(std::llround(nanoseconds)));
  newest_step_ = (newest_step_ + 1) % steps_.size();
  steps_[newest_step_] = {now, std::clamp(next, options_.floor, options_.ceiling)};
}

}  // namespace stout::inline v1
