#include "commands.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "program/interrupt.h"
#include "progress.h"
#include "queueing.h"
#include "scenario_fields.h"
#include "stout/sim/grid.h"
#include "stout/sim/oracle.h"
#include "stout/sim/plot.h"
#include "stout/sim/recording_csv.h"
#include "stout/sim/regret.h"
#include "stout/sim/result_json.h"
#include "stout/sim/scenario_json.h"
#include "stout/sim/sweep.h"
#include "tables.h"

namespace stout::sim::internal {
namespace {

namespace fs = std::filesystem;

/// Why a file cannot be opened or read, from errno.
CommandError CannotRead(const fs::path& file) {
  return {kFailed,
          fmt::format("cannot read {}: {}", file.string(),
                      fs::is_directory(file) ? "it is a directory" : std::strerror(errno))};
}

/// Null if there is no file.
std::shared_ptr<const Recording> ReadTrace(const fs::path& file) {
  if (file.empty()) return nullptr;
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file)) throw CannotRead(file);
  return std::make_shared<const Recording>(FromFile(ReadRecording(in), file));
}

Scenario ReadScenarioFile(const fs::path& file, std::optional<std::uint64_t> seed = {},
                          std::shared_ptr<const Recording> recording = nullptr) {
  Scenario scenario = FromFile(ReadScenario(ReadFile(file), std::move(recording)), file);
  if (scenario.name.empty()) scenario.name = file.stem().string();
  scenario.seed = seed.value_or(scenario.seed);
  return scenario;
}

/// Shows how far a run is, and ends it on an interrupt.
RunLimits Watched(const Scenario& scenario, Progress& progress) {
  RunLimits limits;
  limits.watch = [&](TimePoint now) {
    progress.Show(std::chrono::duration<double>(now.time_since_epoch()).count() /
                  scenario.duration_s);
    return !program::Interrupt::flag();
  };
  return limits;
}

/// Only looks for an interrupt.
RunLimits Interruptible() {
  RunLimits limits;
  limits.watch = [](TimePoint) { return !program::Interrupt::flag(); };
  return limits;
}

// If gnuplot cannot open the file, it draws on its standard output.
void RequireWritable(const fs::path& file) {
  errno = 0;
  if (std::ofstream(file, std::ios::app)) return;
  throw CommandError(kFailed,
                     fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
}

void CheckRates(const Scenario& scenario, const std::vector<double>& rates,
                const SweepCommandOptions& options) {
  const auto arrivals = scenario.clients.arrivals;
  if (!HasRate(arrivals)) {
    throw CommandError(
        kFailed, fmt::format("{}: \"clients.arrivals\" is \"{}\", which has no rate to sweep; it "
                             "must be poisson, mmpp or on_off",
                             options.scenario.string(),
                             arrivals == ClientSpec::Arrivals::kClosed ? "closed" : "recorded"));
  }
  if (scenario.clients.read_fraction == 1) {
    throw CommandError(kFailed, fmt::format("{}: \"clients.read_fraction\" is 1; it must be less, "
                                            "because rates and loads are changes",
                                            options.scenario.string()));
  }
  Scenario at_rate = scenario;
  for (const double rate : rates) {
    at_rate.clients.total_rate_per_s = internal::RequestRate(scenario.clients, rate);
    if (const auto error = Validate(at_rate)) {
      throw CommandError(
          kBadOptions,
          fmt::format("{}: {}", options.loads.empty() ? "--rates" : "--loads", error->what));
    }
  }
}

}  // namespace

std::string ReadFile(const fs::path& file) {
  std::ifstream in(file);
  if (!in || fs::is_directory(file)) throw CannotRead(file);
  try {
    return {std::istreambuf_iterator<char>(in), {}};
  } catch (const std::ios_base::failure&) {  // the iterators pass it on
    throw CannotRead(file);
  }
}

void WriteFile(const fs::path& file, const std::string& text, const Tool& tool) {
  if (file == "-") {
    fmt::print(tool.out, "{}", text);
    return;
  }
  std::error_code ec;
  // A device or a pipe is written to; to rename a file to it would take its place.
  const bool replaces = !fs::exists(file, ec) || fs::is_regular_file(file, ec);
  const fs::path written = file.string() + (replaces ? ".tmp" : "");
  ec.clear();
  errno = 0;
  std::ofstream out(written);
  if (!(out << text << std::flush)) ec.assign(errno, std::generic_category());
  if (!ec && replaces) fs::rename(written, file, ec);
  if (!ec) return;
  std::error_code ignored;
  if (replaces) fs::remove(written, ignored);
  throw CommandError(kFailed, fmt::format("cannot write {}: {}", file.string(), ec.message()));
}

std::vector<std::pair<std::string, Policy>> PoliciesOf(const std::vector<std::string>& texts,
                                                       const Tool& tool) {
  std::vector<std::pair<std::string, Policy>> policies;
  for (const std::string& text : texts) {
    std::string error;
    std::optional<Policy> policy = tool.read_policy(text, &error);
    if (!policy) throw CommandError(kBadOptions, "--policy: " + error);
    policies.emplace_back(text, *std::move(policy));
  }
  return policies;
}

ExitCode Execute(const RunOptions& options, const Tool& tool) {
  auto policies = PoliciesOf(options.policies, tool);
  Scenario scenario = ReadScenarioFile(options.scenario, options.seed, ReadTrace(options.trace));
  if (policies.empty()) {
    std::string error;
    std::optional<Policy> policy = tool.read_policy(scenario.policy, &error);
    if (!policy) {
      throw CommandError(kFailed,
                         fmt::format("{}: \"policy\": {}", options.scenario.string(), error));
    }
    policies.emplace_back(scenario.policy, *std::move(policy));
  } else {
    scenario.policy = fmt::format("{}", fmt::join(options.policies, " "));
  }
  const PolicyOf policy_of = [&](std::uint32_t client) {
    return policies[client % policies.size()].second;
  };
  Progress progress(tool.err, scenario.name);
  Result result = Simulate(scenario, policy_of, Watched(scenario, progress));
  if (program::Interrupt::flag()) return kInterrupted;
  if (policies.size() > 1) result.policy = scenario.policy;
  fmt::print(tool.out, "{}",
             options.json ? JsonText(ResultToJson(result)) : ResultTable(result, scenario));
  return kOk;
}

ExitCode Execute(const OracleOptions& options, const Tool& tool) {
  const Scenario scenario = ReadScenarioFile(options.scenario, options.seed);
  const Best interval = BestFixedInterval(scenario, Interruptible());
  if (program::Interrupt::flag()) return kInterrupted;
  const Best gap = BestFixedGap(scenario, interval, Interruptible());
  if (program::Interrupt::flag()) return kInterrupted;
  if (options.json) {
    const boost::json::object object{{"scenario", scenario.name},
                                     {"best_interval", BestToJson(interval)},
                                     {"best_gap", BestToJson(gap)}};
    fmt::print(tool.out, "{}", JsonText(object));
  } else {
    fmt::print(tool.out, "{}", OracleTable(interval, gap));
  }
  return kOk;
}

ExitCode Execute(const SweepCommandOptions& options, const Tool& tool) {
  const Scenario scenario = ReadScenarioFile(options.scenario);
  SweepOptions sweep{.policies = PoliciesOf(options.policies, tool),
                     .rates_per_s = options.rates,
                     .jobs = options.jobs,
                     .stop = &program::Interrupt::flag(),
                     .progress = {}};
  for (const double load : options.loads) {
    sweep.rates_per_s.push_back(load / 100 * CapacityPerSecond(scenario.store));
  }
  CheckRates(scenario, sweep.rates_per_s, options);
  Progress progress(tool.err, scenario.name);
  sweep.progress = [&](double share) { progress.Show(share); };
  const Sweep done = RunSweep(scenario, sweep);
  if (program::Interrupt::flag()) return kInterrupted;
  fmt::print(tool.out, "{}", options.json ? JsonText(SweepToJson(done), 3) : SweepTable(done));
  return kOk;
}

ExitCode Execute(const PlotOptions& options, const Tool& tool) {
  std::string script;
  const fs::path& first = options.files.front();
  switch (options.kind) {
    case PlotOptions::Kind::kTimeline: {
      std::vector<Result> results;
      for (const fs::path& file : options.files) {
        const auto json = FromFile(ParseJson(ReadFile(file)), file);
        results.push_back(FromFile(ResultFromJson(json), file));
      }
      script = TimelineScript(results, options.output);
      break;
    }
    case PlotOptions::Kind::kSweep:
      script = SweepScript(FromFile(ReadSweep(ReadFile(first)), first), options.output);
      break;
    case PlotOptions::Kind::kGrid:
      script = RegretScript(FromFile(ReadGridFile(ReadFile(first)), first), options.output);
      break;
  }
  if (options.script) {
    fmt::print(tool.out, "{}", script);
  } else {
    RequireWritable(options.output);
    RunGnuplot(script);
  }
  return kOk;
}

ExitCode Execute(const SchemaOptions& options, const Tool& tool) {
  boost::json::object schema = options.of == "grid"     ? GridSchema()
                               : options.of == "result" ? ResultSchema()
                                                        : ScenarioSchema();
  fmt::print(tool.out, "{}", options.table ? FieldTable(schema) : JsonText(schema));
  return kOk;
}

}  // namespace stout::sim::internal
