#include "policies/run_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "load/interrupts.h"
#include "load/json.h"
#include "policies/bench_options.h"
#include "policies/report.h"

namespace stout::bench {
namespace {

/// Tells a person at the terminal what runs, and a log how long it may take.
class Progress {
 public:
  Progress(const BenchProgram& program, const BenchOptions& options)
      : settings_(options.stores.size() * options.servers.size() * options.documents.size()) {
    const double seconds = std::chrono::duration<double>(options.warmup + options.measure).count();
    const auto trials = static_cast<double>(settings_ * options.rates.size() *
                                            options.policies.size() * options.repetitions);
    fmt::print(stderr,
               "{}: {} policies, {} settings, {} rates, {} times: at most {:.0f} minutes{}\n",
               program.name, options.policies.size(), settings_, options.rates.size(),
               options.repetitions, trials * seconds / 60 + 1,
               options.sustained.empty() ? "" : ", and the search for what is sustained");
  }
  ~Progress() {
    if (terminal_) fmt::print(stderr, "\r{:78}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnTrial(const Setting& setting, const Policy& policy, double rate) {
    ++trials_;
    if (!terminal_) return;
    fmt::print(stderr, "\r{:78}\rtrial {}: {}, {} servers, {} documents, {}/s: {}", "", trials_,
               setting.store.name, setting.servers, setting.documents, rate, policy.Name());
  }

 private:
  std::size_t settings_;
  std::size_t trials_ = 0;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

std::vector<Setting> MeasureWithProgress(const BenchProgram& program, const BenchOptions& options,
                                         const std::atomic<bool>& interrupted) {
  Progress progress(program, options);
  return Measure(
      options, program.run_trial,
      [&](const Setting& setting, const Policy& policy, double rate) {
        progress.OnTrial(setting, policy, rate);
      },
      interrupted);
}

ExitCode Execute(const BenchProgram& program, const BenchOptions& options) {
  const std::atomic<bool>& interrupted = CatchInterrupts();
  const std::vector<Setting> settings = MeasureWithProgress(program, options, interrupted);
  if (options.json_file != "-") {
    for (const Setting& setting : settings) {
      fmt::print("{}\n", ToTable(setting, options.max_p99));
    }
    fmt::print("!: overloaded, -: not asked for, for it was overloaded at a lower rate\n");
  }
  if (!options.plot_data.empty()) WritePlotData(settings, options.plot_data);
  if (!options.json_file.empty()) {
    WriteFile(options.json_file, ToJson(options, settings, interrupted));
  }
  if (interrupted) fmt::print(stderr, "{}: interrupted\n", program.name);
  return interrupted ? kInterrupted : kOk;
}

ExitCode Execute(const BenchProgram&, ExitCode code) { return code; }

}  // namespace

ExitCode RunBench(int argc, const char* const* argv, const BenchProgram& program) {
  try {
    return std::visit([&](const auto& command) { return Execute(program, command); },
                      ParseCommandLine(argc, argv, program.name));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program.name, error.what());
    return kFailed;
  }
}

}  // namespace stout::bench
