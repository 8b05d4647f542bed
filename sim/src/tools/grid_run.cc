#include <algorithm>
#include <mutex>

#include "median.h"
#include "parallel.h"
#include "stout/core/policy/basic.h"
#include "stout/sim/regret.h"

namespace stout::sim {
namespace {

/// A run is given up as unstable if the pending changes exceed both this number of round trips and
/// this share of the run. Good policies leave one or two round trips pending.
constexpr double kMaxBacklogRoundTrips = 50;
constexpr double kMaxBacklogShare = 0.25;
/// Cost of a sweep, in whole runs.
constexpr double kSweepRuns = 10;

/// One run, or one sweep, of one point.
struct Job {
  std::size_t point = 0;
  const std::string* name = nullptr;  ///< Null: the sweep for the best interval.
  const Policy* policy = nullptr;
  double cost = 0;  ///< In changes.
};

/// Number of changes in all runs of a policy at a point.
double Changes(const GridPoint& point) {
  return point.seeds * point.scenario.duration_s * point.scenario.clients.total_rate_per_s;
}

/// `run` gives a Result or a Best for each of the point's seeds.
template <typename Run>
auto MedianOverSeeds(const GridPoint& point, const Run& run) {
  Scenario scenario = point.scenario;
  std::vector<decltype(run(scenario))> runs;
  for (std::uint32_t i = 0; i < point.seeds; ++i) {
    scenario.seed = point.scenario.seed + i;
    runs.push_back(run(scenario));
  }
  return internal::MedianOf(std::move(runs));
}

std::vector<Job> Missing(const std::vector<PointResults>& points,
                         const std::vector<std::pair<std::string, Policy>>& policies,
                         bool without_oracle) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double cost = Changes(points[i].point);
    if (!points[i].interval && !without_oracle)
      jobs.push_back({.point = i, .cost = cost * kSweepRuns});
    for (const auto& [name, policy] : policies) {
      if (points[i].policies.contains(name)) continue;
      jobs.push_back({.point = i, .name = &name, .policy = &policy, .cost = cost});
    }
  }
  // The longest first, so that no core is left alone with one at the end.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.cost > b.cost; });
  return jobs;
}

std::vector<std::pair<std::string, Policy>> WithNatural(
    std::vector<std::pair<std::string, Policy>> policies) {
  for (const std::string& name : NaturalPolicies()) {
    const auto is_it = [&](const auto& policy) { return policy.first == name; };
    if (std::ranges::none_of(policies, is_it)) policies.emplace_back(name, *MakePolicy(name));
  }
  return policies;
}

}  // namespace

const std::vector<std::string>& NaturalPolicies() {
  static const std::vector<std::string> names = {"natural", "natural:2", "natural:4", "natural:8"};
  return names;
}

bool RunGrid(std::vector<PointResults>& points, const GridRunOptions& options) {
  const auto policies = WithNatural(options.policies);
  const std::vector<Job> jobs = Missing(points, policies, options.without_oracle);
  double all = 0;
  for (const Job& job : jobs) all += job.cost;
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };

  std::mutex mutex;  // guards points and done
  double done = 0;
  const auto run = [&](std::size_t index) {
    if (stopped()) return;
    const Job& job = jobs[index];
    const GridPoint& point = points[job.point].point;
    RunLimits limits;
    limits.max_backlog_s = std::max(kMaxBacklogRoundTrips * point.round_trip_ms / 1e3,
                                    kMaxBacklogShare * point.scenario.duration_s);
    limits.watch = [&](TimePoint) { return !stopped(); };
    std::optional<Best> best;
    Result result;
    if (job.policy == nullptr) {
      best = MedianOverSeeds(
          point, [&](const Scenario& scenario) { return BestFixedInterval(scenario, limits); });
      best->result.timeline.clear();
    } else {
      result = MedianOverSeeds(
          point, [&](const Scenario& scenario) { return Simulate(scenario, *job.policy, limits); });
      result.timeline.clear();
    }
    if (stopped()) return;
    const std::scoped_lock lock(mutex);
    done += job.cost;
    if (best) {
      points[job.point].interval = std::move(best);
    } else {
      points[job.point].policies.try_emplace(*job.name, std::move(result));
    }
  };
  internal::RunJobs(jobs.size(), options.jobs, run, [&] {
    const std::scoped_lock lock(mutex);
    if (options.progress) options.progress(points, all > 0 ? done / all : 1);
  });
  return !stopped();
}

std::vector<PointResults> TakeOver(const std::vector<GridPoint>& points,
                                   const std::vector<PointResults>& earlier, bool with_policies) {
  std::map<std::string_view, const PointResults*> by_name;
  for (const PointResults& results : earlier) by_name[results.point.name] = &results;
  std::vector<PointResults> taken;
  for (const GridPoint& point : points) {
    PointResults& results = taken.emplace_back(PointResults{.point = point});
    const auto found = by_name.find(point.name);
    if (found == by_name.end() || found->second->point.scenario != point.scenario ||
        found->second->point.seeds != point.seeds) {
      continue;
    }
    results.interval = found->second->interval;
    for (const auto& [name, result] : found->second->policies) {
      const auto& natural = NaturalPolicies();
      const bool keep = std::find(natural.begin(), natural.end(), name) != natural.end();
      if (keep || with_policies) results.policies.emplace(name, result);
    }
  }
  return taken;
}

}  // namespace stout::sim
