#include "policies/run_bench.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "load/command_line.h"
#include "load/json.h"
#include "policies/bench_options.h"
#include "policies/report.h"
#include "program/command_line.h"
#include "program/interrupt.h"
#include "program/progress_line.h"

namespace stout::bench {
namespace {

/// Prints an estimate, also for a log.
void TellHowLong(const BenchProgram& program, const BenchOptions& options) {
  const std::size_t settings =
      options.stores.size() * options.servers.size() * options.documents.size();
  const double seconds = std::chrono::duration<double>(options.warmup + options.measure).count();
  const auto trials = static_cast<double>(settings * options.rates.size() *
                                          options.policies.size() * options.repetitions);
  fmt::print(stderr, "{}: {} policies, {} settings, {} rates, {} times: at most {:.0f} minutes{}\n",
             program.name, options.policies.size(), settings, options.rates.size(),
             options.repetitions, trials * seconds / 60 + 1,
             options.sustained.empty() ? "" : ", and the search for what is sustained");
}

std::vector<Setting> MeasureWithProgress(const BenchProgram& program, const BenchOptions& options,
                                         const std::atomic<bool>& interrupted) {
  TellHowLong(program, options);
  const program::ProgressLine progress(program.name);
  std::size_t trials = 0;
  return Measure(
      options, program.run_trial,
      [&](const Setting& setting, const Policy& policy, double rate) {
        progress.Show(fmt::format("trial {}: {}, {} servers, {} documents, {}/s: {}", ++trials,
                                  setting.store.name, setting.servers, setting.documents, rate,
                                  policy.Name()));
      },
      interrupted);
}

ExitCode Execute(const BenchProgram& program, const BenchOptions& options) {
  const program::Interrupt interrupt;
  const std::atomic<bool>& interrupted = interrupt.flag();
  const std::vector<Setting> settings = MeasureWithProgress(program, options, interrupted);
  if (options.json_file != "-") {
    for (const Setting& setting : settings) {
      fmt::print("{}\n", ToTable(setting, options.max_p99));
    }
    fmt::print(
        "!: overloaded, -: not measured, because the policy was overloaded at a lower rate\n");
  }
  if (!options.plot_data.empty()) WritePlotData(settings, options.plot_data);
  if (!options.json_file.empty()) {
    WriteFile(options.json_file, ToJson(options, settings, interrupted));
  }
  if (interrupted) fmt::print(stderr, "{}: interrupted\n", program.name);
  return interrupted ? kInterrupted : kOk;
}

}  // namespace

ExitCode RunBench(int argc, const char* const* argv, const BenchProgram& program) {
  return program::RunCommand(
      program.name, [&] { return ParseCommandLine(argc, argv, program.name); },
      [&](const BenchOptions& options) { return Execute(program, options); });
}

}  // namespace stout::bench
