#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "parallel.h"
#include "program/interrupt.h"
#include "stout/core/policy/basic.h"
#include "stout/sim/json_text.h"
#include "stout/sim/replication.h"
#include "stout/sim/sweep.h"

namespace stout::sim::internal {
namespace {

/// A bound as docs/MEASURED.md has for servers.
constexpr double kSustainedP99Ms = 50;

struct Contender {
  ReplicationSpec::Design design;
  std::string policy_text;
  Policy policy;
  std::vector<ReplicationResult> runs;  // by load
  double sustained_percent = 0;

  [[nodiscard]] std::string_view DesignName() const {
    return design == ReplicationSpec::Design::kChain ? "chain" : "parallel";
  }
};

/// A sync of 1 ms is that of a disk in a cloud; 10 us are a small item. Guesses, as is the noise.
StoreSpec StoreOf(const ReplicationOptions& options) {
  StoreSpec store{.per_batch_us = 5, .per_item_us = 10, .rtt_us = 200, .noise_sigma = 0.3};
  if (options.memory) return store;
  store.kind = StoreSpec::Kind::kGroupCommit;
  store.per_batch_us = 20;
  store.sync_us = 1000;
  return store;
}

double WritesPerSecond(double load_percent, const ReplicationSpec& spec) {
  return load_percent / 100 * CapacityPerSecond(spec.store);
}

ReplicationResult RunAt(double load_percent, ReplicationSpec spec, const Contender& contender) {
  spec.design = contender.design;
  spec.rate_per_s = WritesPerSecond(load_percent, spec) / (1 - spec.read_fraction);
  return SimulateReplication(spec, contender.policy, nullptr, &program::Interrupt::flag());
}

/// Highest load whose requests are answered in time, to 1 %.
double SustainedPercent(const ReplicationSpec& spec, const Contender& contender) {
  double low = 0;
  double high = 128;
  while (high - low > 1 && !program::Interrupt::flag()) {
    const double load = (low + high) / 2;
    const ReplicationResult result = RunAt(load, spec, contender);
    const bool sustains = result.stable && result.write_latency_ms.p99 <= kSustainedP99Ms &&
                          result.read_latency_ms.p99 <= kSustainedP99Ms;
    (sustains ? low : high) = load;
  }
  return low;
}

boost::json::object LatencyJson(const LatencySummary& latency) {
  return {{"mean", latency.mean}, {"p99", latency.p99}};
}

std::string Json(const ReplicationOptions& options, const ReplicationSpec& spec,
                 const std::vector<Contender>& contenders) {
  boost::json::array rows;
  for (const Contender& contender : contenders) {
    boost::json::array runs;
    for (std::size_t i = 0; i < options.loads.size(); ++i) {
      const ReplicationResult& run = contender.runs[i];
      runs.push_back({{"load_percent", options.loads[i]},
                      {"writes_per_s", WritesPerSecond(options.loads[i], spec)},
                      {"write_latency_ms", LatencyJson(run.write_latency_ms)},
                      {"read_latency_ms", LatencyJson(run.read_latency_ms)},
                      {"completed_per_s", run.completed_per_s},
                      {"sent_per_write", run.sent_per_write},
                      {"stable", run.stable},
                      {"digest", fmt::format("{:016x}", run.digest)}});
    }
    rows.push_back({{"design", contender.DesignName()},
                    {"policy", contender.policy_text},
                    {"sustained_writes_per_s", WritesPerSecond(contender.sustained_percent, spec)},
                    {"runs", std::move(runs)}});
  }
  return JsonText(boost::json::object{{"members", options.members},
                                      {"store", options.memory ? "memory" : "durable"},
                                      {"read_fraction", options.read_fraction},
                                      {"seed", options.seed},
                                      {"results", std::move(rows)}});
}

std::string Table(const ReplicationOptions& options, const ReplicationSpec& spec,
                  const std::vector<Contender>& contenders) {
  std::string text = fmt::format(
      "{} members, {}, seed {}\n\n{:<9} {:<12} {:>6} {:>9} {:>11} {:>10} {:>10} {:>9} {:>11}\n",
      options.members, options.memory ? "in memory" : "durable", options.seed, "design", "policy",
      "load", "writes/s", "write mean", "write p99", "read mean", "read p99", "sent/write");
  for (const Contender& contender : contenders) {
    for (std::size_t i = 0; i < options.loads.size(); ++i) {
      const ReplicationResult& run = contender.runs[i];
      const auto out = std::back_inserter(text);
      fmt::format_to(out, "{:<9} {:<12} {:>5g}% {:>9.6g}", contender.DesignName(),
                     contender.policy_text, options.loads[i],
                     WritesPerSecond(options.loads[i], spec));
      if (!run.stable) {
        text += "  unstable\n";
        continue;
      }
      fmt::format_to(out, " {:>8.3f} ms {:>7.3f} ms {:>7.3f} ms {:>6.3f} ms {:>11.3g}\n",
                     run.write_latency_ms.mean, run.write_latency_ms.p99, run.read_latency_ms.mean,
                     run.read_latency_ms.p99, run.sent_per_write);
    }
  }
  text += fmt::format("\nsustained, with p99 up to {} ms:\n", kSustainedP99Ms);
  for (const Contender& contender : contenders) {
    text += fmt::format("{:<9} {:<12} {:>9.6g} writes/s\n", contender.DesignName(),
                        contender.policy_text, WritesPerSecond(contender.sustained_percent, spec));
  }
  return text;
}

}  // namespace

ExitCode Execute(const ReplicationOptions& options, const Tool& tool) {
  using Design = ReplicationSpec::Design;
  // The paper's chain forwards each write by itself.
  std::vector<Contender> contenders{{Design::kChain, "unbatched", Unbatched{}, {}, 0}};
  const auto policies = PoliciesOf(options.policies, tool);
  for (const Design design : {Design::kChain, Design::kParallel}) {
    for (const auto& [text, policy] : policies) contenders.push_back({design, text, policy, {}, 0});
  }
  ReplicationSpec spec;
  spec.members = options.members;
  spec.store = StoreOf(options);
  spec.read_fraction = options.read_fraction;
  spec.warmup_s = std::min(spec.warmup_s, options.duration_s);
  spec.duration_s = spec.warmup_s + options.duration_s;
  spec.seed = options.seed;
  const auto run = [&](std::size_t i) {
    Contender& contender = contenders[i];
    for (const double load : options.loads) {
      if (program::Interrupt::flag()) return;
      contender.runs.push_back(RunAt(load, spec, contender));
    }
    contender.sustained_percent = SustainedPercent(spec, contender);
  };
  RunJobs(contenders.size(), options.jobs, run, [] {});
  if (program::Interrupt::flag()) return kInterrupted;
  // First, because the file may not be writable.
  if (options.json_file != "-") fmt::print(tool.out, "{}", Table(options, spec, contenders));
  if (!options.json_file.empty()) {
    WriteFile(options.json_file, Json(options, spec, contenders), tool);
  }
  return kOk;
}

}  // namespace stout::sim::internal
