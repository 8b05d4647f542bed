#include "stout/sim/oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "fields.h"
#include "queueing.h"
#include "rounding.h"
#include "scenario_fields.h"
#include "spaced.h"
#include "stout/core/policy/basic.h"
#include "stout/sim/grid.h"
#include "stout/sim/result_json.h"

namespace stout::sim {

namespace json = boost::json;
using internal::kAny;

template <typename Visitor, internal::SameAs<Trial> T>
void Describe(Visitor& visit, T& trial) {
  visit("ms", trial.ms, kAny, "the setting");
  visit("mean_ms", trial.mean_ms, kAny, "mean write latency with it");
  visit("stable", trial.stable, kAny, "the store kept up");
}

// The fields of a best setting beside its result.
template <typename Visitor, internal::SameAs<Best> B>
void Describe(Visitor& visit, B& best) {
  visit("chosen_ms", best.chosen_ms, kAny, "the best setting");
  visit("trials", best.trials, kAny, "all settings that were tried");
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallestMs = 1e-3;
constexpr double kLargestMs = 1e7;
/// Less is not told from noise: a walk over flat ground ends.
constexpr double kGain = 0.998;
/// A setting that is worse than the best by this factor, or unstable: nothing better lies beyond.
constexpr double kHopeless = 1.2;
/// The walk's step, and those of the refinement, each about the root of the one before.
constexpr double kStride = 2;
constexpr std::array kRefinements = {1.41, 1.19, 1.09, 1.04};
/// And that of the whole runs at the end.
constexpr double kFullStride = 1.19;

/// Round trips of the fleet after which the queue of a fixed interval is what it will be.
constexpr double kRoundTripsToSettle = 20;
/// Changes that a shortened run measures at least: their mean is then good to about a percent.
constexpr double kChangesOfTrial = 20'000;

/// The scenario cut to what a policy needs that has nothing to learn. Steps and starts keep their
/// times, so a scenario with them is not cut. Nor is one without a rate, which tells how much to
/// cut.
Scenario ForTrial(const Scenario& scenario) {
  Scenario trial = scenario;
  const bool keeps_times = !scenario.steps.empty() || scenario.clients.start_spread_s > 0;
  if (keeps_times || !internal::HasRate(scenario.clients.arrivals)) return trial;
  const double measured = scenario.duration_s - scenario.warmup_s;
  const double enough = kChangesOfTrial / scenario.clients.total_rate_per_s;
  const double settled =
      kRoundTripsToSettle *
      FleetRoundTrip(scenario.store, scenario.clients.count, scenario.clients.total_rate_per_s);
  trial.warmup_s = std::min(scenario.warmup_s, std::max(scenario.warmup_s / 4, settled));
  trial.duration_s = trial.warmup_s + std::min(measured, std::max(measured / 2, enough));
  return trial;
}

/// The policies of the clients that have this setting.
using Setting = std::function<PolicyOf(Duration)>;

// After an interrupt no further run begins: the search ends with results that are of no use.
Result RunWith(const Scenario& scenario, const Setting& policies_with, double ms,
               const RunLimits& limits) {
  if (limits.watch && !limits.watch(TimePoint{})) return {};
  return Simulate(scenario, policies_with(Duration(std::llround(ms * 1e6))), limits);
}

/// Looks for the least latency over one setting, supposing one valley on the logarithmic scale.
class Search {
 public:
  Search(const Scenario& scenario, Setting policies_with, const RunLimits& limits)
      : scenario_(scenario),
        trial_(ForTrial(scenario)),
        policies_with_(std::move(policies_with)),
        limits_(limits) {}

  Best From(double guess_ms) && {
    best_.chosen_ms = Rounded(guess_ms);  // if no trial beats any
    Try(guess_ms);
    Walk(guess_ms, kStride);
    Walk(guess_ms, 1 / kStride);
    for (const double ratio : kRefinements) Refine(ratio);
    best_.result = RunWith(scenario_, policies_with_, best_.chosen_ms, limits_);
    if (!WalkInFull(kFullStride)) WalkInFull(1 / kFullStride);
    return std::move(best_);
  }

 private:
  /// Four digits, so that the policy's name is short: "fixed:12340us".
  static double Rounded(double ms) {
    return internal::RoundedTo(4, std::clamp(ms, kSmallestMs, kLargestMs));
  }

  /// Returns true if the setting is better than all before.
  bool Try(double ms) {
    ms = Rounded(ms);
    const auto tried = std::find_if(best_.trials.begin(), best_.trials.end(),
                                    [&](const Trial& trial) { return trial.ms == ms; });
    if (tried != best_.trials.end()) return false;
    best_.trials.push_back(TrialOf(ms, RunWith(trial_, policies_with_, ms, limits_)));
    const bool better = Beats(best_.trials.back(), least_);
    if (better) {
      least_ = best_.trials.back();
      best_.chosen_ms = ms;
    }
    return better;
  }

  static Trial TrialOf(double ms, const Result& result) {
    return {.ms = ms,
            .mean_ms = result.write_latency_ms.mean,
            .stable = result.stable && result.completed_per_s > 0};
  }

  // A stable setting beats every unstable one. A mean of 0 is that of no change at all.
  static bool Beats(const Trial& trial, const Trial& other) {
    if (trial.stable != other.stable) return trial.stable;
    const auto mean = [](const Trial& of) { return of.mean_ms > 0 ? of.mean_ms : kInfinity; };
    return mean(trial) < mean(other) * kGain;
  }

  /// On from the best setting in whole runs while it gets better; whether it did. Near saturation a
  /// queue takes longer to settle than a trial lasts, and trials favour intervals that are too
  /// short.
  bool WalkInFull(double stride) {
    for (bool moved = false;; moved = true) {
      const double ms = Rounded(best_.chosen_ms * stride);
      Result result = RunWith(scenario_, policies_with_, ms, limits_);
      best_.trials.push_back(TrialOf(ms, result));
      if (!Beats(best_.trials.back(), TrialOf(best_.chosen_ms, best_.result))) return moved;
      best_.chosen_ms = ms;
      best_.result = std::move(result);
    }
  }

  /// On from `ms` by strides, until it has become worse twice or hopelessly so, or longer than the
  /// run.
  void Walk(double ms, double stride) {
    const double longest = std::min(kLargestMs, 1e3 * trial_.duration_s);
    for (int worse = 0; worse < 2;) {
      ms *= stride;
      if (ms < kSmallestMs || ms > longest) return;
      if (Try(ms)) continue;
      ++worse;
      const Trial& last = best_.trials.back();
      // While nothing is stable yet, longer intervals are the hope.
      const bool unstable = !last.stable && (least_.stable || stride < 1);
      if (unstable || (least_.stable && last.mean_ms > least_.mean_ms * kHopeless)) return;
      if (!least_.stable && stride > 1) worse = 0;
    }
  }

  /// One step of `ratio` to either side, the lower one first.
  void Refine(double ratio) {
    const double center = best_.chosen_ms;
    const bool up = NearestMean(center, true) <= NearestMean(center, false);
    if (!Try(up ? center * ratio : center / ratio)) Try(up ? center / ratio : center * ratio);
  }

  /// Latency at the nearest setting tried above, or below, `ms`.
  [[nodiscard]] double NearestMean(double ms, bool above) const {
    double nearest = above ? kInfinity : 0;
    double mean = kInfinity;
    for (const Trial& trial : best_.trials) {
      if (above ? trial.ms > ms && trial.ms < nearest : trial.ms < ms && trial.ms > nearest) {
        nearest = trial.ms;
        mean = trial.stable ? trial.mean_ms : kInfinity;
      }
    }
    return mean;
  }

  const Scenario& scenario_;
  Scenario trial_;
  Setting policies_with_;
  const RunLimits& limits_;
  Trial least_{.mean_ms = kInfinity, .stable = false};
  Best best_;
};

}  // namespace

double TheoreticalIntervalMs(const Scenario& scenario) {
  const double unloaded = internal::UnloadedLatency(scenario.store);
  double best = 0;
  double least = kInfinity;
  for (double interval = unloaded / 100; interval < unloaded * 1e5; interval *= 1.1) {
    const double latency = internal::ExpectedLatency(scenario, interval);
    if (latency < least) {
      least = latency;
      best = interval;
    }
  }
  return std::max(kSmallestMs, 1e3 * (best > 0 ? best : 10 * unloaded));
}

Best BestFixedInterval(const Scenario& scenario, const RunLimits& limits) {
  const auto policies_with = [](Duration interval) {
    return PolicyOf([=](std::uint32_t client) { return internal::Spaced(interval, client); });
  };
  return Search(scenario, policies_with, limits).From(TheoreticalIntervalMs(scenario));
}

Best BestFixedGap(const Scenario& scenario, const Best& interval, const RunLimits& limits) {
  const auto policies_with = [](Duration gap) {
    return PolicyOf([=](std::uint32_t) { return Gap{gap}; });
  };
  const double beside_store = interval.chosen_ms - interval.result.store_latency_ms;
  return Search(scenario, policies_with, limits)
      .From(std::max(beside_store, interval.chosen_ms / 10));
}

json::object BestToJson(const Best& best) {
  json::object object = internal::WriteFields(best);
  for (auto& member : ResultToJson(best.result)) object[member.key()] = member.value();
  return object;
}

Parsed<Best> BestFromJson(const json::value& value) try {
  Best best;
  internal::ReadKnownFields(value, best);
  Parsed<Result> result = ResultFromJson(value);
  if (!result) return result.error();
  best.result = *std::move(result);
  return best;
} catch (const internal::FieldError& error) {
  return TextError{error.what()};
}

}  // namespace stout::sim
