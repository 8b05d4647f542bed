#include "stout/sim/sweep.h"

#include <algorithm>

#include "fields.h"
#include "parallel.h"
#include "queueing.h"
#include "stout/sim/result_json.h"

namespace stout::sim {

namespace json = boost::json;

// All fields except the result, which has its own reader.
template <typename Visitor, internal::SameAs<SweepRun> Run>
void Describe(Visitor& visit, Run& run) {
  visit("rate_per_s", run.rate_per_s, internal::kAny, "");
  visit("load_percent", run.load_percent, internal::kAny, "");
}

double CapacityPerSecond(const StoreSpec& store) { return internal::ItemCapacity(store); }

Sweep RunSweep(const Scenario& scenario, const SweepOptions& options) {
  Sweep sweep{.scenario = scenario.name, .runs = {}};
  std::vector<std::size_t> order;
  for (std::size_t p = 0; p < options.policies.size(); ++p) {
    for (const double rate : options.rates_per_s) {
      order.push_back(sweep.runs.size());
      sweep.runs.push_back({.rate_per_s = rate,
                            .load_percent = 100 * rate / CapacityPerSecond(scenario.store),
                            .result = {}});
    }
  }
  // The longest first, so that no core is left alone with one at the end.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sweep.runs[a].rate_per_s > sweep.runs[b].rate_per_s;
  });
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::atomic<std::size_t> done{0};
  const auto run = [&](std::size_t index) {
    SweepRun& own = sweep.runs[order[index]];
    const auto& [name, policy] = options.policies[order[index] / options.rates_per_s.size()];
    Scenario scenario_at_rate = scenario;
    scenario_at_rate.policy = name;
    scenario_at_rate.clients.total_rate_per_s =
        internal::RequestRate(scenario.clients, own.rate_per_s);
    std::erase_if(scenario_at_rate.steps,
                  [](const Step& step) { return step.total_rate_per_s.has_value(); });
    RunLimits limits;
    limits.watch = [&](TimePoint) { return !stopped(); };
    if (!stopped()) own.result = Simulate(scenario_at_rate, policy, limits);
    own.result.timeline.clear();
    ++done;
  };
  internal::RunJobs(sweep.runs.size(), options.jobs, run, [&] {
    const auto all = static_cast<double>(sweep.runs.size());
    if (options.progress) options.progress(static_cast<double>(done) / all);
  });
  return sweep;
}

json::object SweepToJson(const Sweep& sweep) {
  json::array runs;
  for (const SweepRun& run : sweep.runs) {
    json::object object = internal::WriteFields(run);
    for (auto& member : ResultToJson(run.result)) {
      if (member.key() != "timeline") object[member.key()] = member.value();
    }
    runs.emplace_back(std::move(object));
  }
  return {{"sweep", sweep.scenario}, {"runs", std::move(runs)}};
}

Parsed<Sweep> ReadSweep(std::string_view text) try {
  const Parsed<json::value> value = ParseJson(text);
  if (!value) return value.error();
  Sweep sweep{.scenario = std::string(value->at("sweep").as_string()), .runs = {}};
  for (const json::value& item : value->at("runs").as_array()) {
    SweepRun& run = sweep.runs.emplace_back();
    internal::ReadKnownFields(item, run);
    Parsed<Result> result = ResultFromJson(item);
    if (!result) return result.error();
    run.result = *std::move(result);
  }
  return sweep;
} catch (const internal::FieldError& error) {
  return TextError{error.what()};
} catch (const std::exception&) {  // a member is missing or of another type
  return TextError{"this is no file that `stout-sim sweep --json` wrote"};
}

}  // namespace stout::sim
