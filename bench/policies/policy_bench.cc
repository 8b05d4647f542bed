// policy-bench: batching policies side by side on real stores.

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
#include "policies/sweep.h"

namespace stout::bench {
namespace {

/// Tells a person at the terminal what runs, and a log how long it may take.
class Progress {
 public:
  explicit Progress(const BenchOptions& options)
      : settings_(options.stores.size() * options.servers.size() * options.documents.size()) {
    const double seconds = std::chrono::duration<double>(options.warmup + options.measure).count();
    const auto trials = static_cast<double>(settings_ * options.rates.size() *
                                            options.policies.size() * options.repetitions);
    fmt::print(stderr,
               "policy-bench: {} policies, {} settings, {} rates, {} times: at most {:.0f} minutes"
               "{}\n",
               options.policies.size(), settings_, options.rates.size(), options.repetitions,
               trials * seconds / 60 + 1,
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

std::vector<Setting> MeasureWithProgress(const BenchOptions& options,
                                         const std::atomic<bool>& interrupted) {
  Progress progress(options);
  return Measure(
      options,
      [&](const Setting& setting, const Policy& policy, double rate) {
        progress.OnTrial(setting, policy, rate);
      },
      interrupted);
}

ExitCode Execute(const BenchOptions& options) {
  const std::atomic<bool>& interrupted = CatchInterrupts();
  const std::vector<Setting> settings = MeasureWithProgress(options, interrupted);
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
  if (interrupted) fmt::print(stderr, "policy-bench: interrupted\n");
  return interrupted ? kInterrupted : kOk;
}

ExitCode Execute(ExitCode code) { return code; }

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  try {
    return std::visit([](const auto& command) { return Execute(command); },
                      ParseCommandLine(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "policy-bench: {}\n", error.what());
    return kFailed;
  }
}
