// store-bench: libstout beside what applications do without it, on real stores.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "load/interrupts.h"
#include "load/json.h"
#include "stores/compare_options.h"
#include "stores/comparison.h"
#include "stores/comparison_json.h"

namespace stout::bench {
namespace {

/// One line that changes, for a person at the terminal.
class Progress {
 public:
  Progress() = default;
  ~Progress() {
    if (terminal_) fmt::print(stderr, "\r{:78}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnTrial(const Comparison& comparison, const std::string& name, double rate) {
    ++trials_;
    if (!terminal_) return;
    fmt::print(stderr, "\r{:78}\r{}, {} documents, trial {}: {} at {:.0f}/s", "",
               comparison.store.name, comparison.documents, trials_, name, rate);
  }

 private:
  std::size_t trials_ = 0;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

std::vector<Comparison> CompareWithProgress(const CompareOptions& options,
                                            const std::atomic<bool>& interrupted) {
  Progress progress;
  return Compare(
      options,
      [&](const Comparison& comparison, const std::string& name, double rate) {
        progress.OnTrial(comparison, name, rate);
      },
      interrupted);
}

ExitCode Execute(const StoreBenchCommand& command) {
  const std::atomic<bool>& interrupted = CatchInterrupts();
  const std::vector<Comparison> comparisons = CompareWithProgress(command.compare, interrupted);
  WriteFile(command.json_file, ToJson(command.compare, comparisons, interrupted));
  if (interrupted) fmt::print(stderr, "store-bench: interrupted\n");
  return interrupted ? kInterrupted : kOk;
}

ExitCode Execute(ExitCode code) { return code; }

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  try {
    return std::visit([](const auto& command) { return Execute(command); },
                      ParseStoreBench(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "store-bench: {}\n", error.what());
    return kFailed;
  }
}
