// store-bench: libstout beside what applications do without it, on real stores.

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "load/command_line.h"
#include "load/json.h"
#include "program/command_line.h"
#include "program/interrupt.h"
#include "program/progress_line.h"
#include "stores/compare_options.h"
#include "stores/comparison.h"
#include "stores/comparison_json.h"

namespace stout::bench {
namespace {

std::vector<Comparison> CompareWithProgress(const CompareOptions& options,
                                            const std::atomic<bool>& interrupted) {
  const program::ProgressLine progress("store-bench");
  std::size_t trials = 0;
  return Compare(
      options,
      [&](const Comparison& comparison, const std::string& name, double rate) {
        progress.Show(fmt::format("{}, {} documents, trial {}: {} at {:.0f}/s",
                                  comparison.store.name, comparison.documents, ++trials, name,
                                  rate));
      },
      interrupted);
}

ExitCode Execute(const StoreBenchCommand& command) {
  const program::Interrupt interrupt;
  const std::atomic<bool>& interrupted = interrupt.flag();
  const std::vector<Comparison> comparisons = CompareWithProgress(command.compare, interrupted);
  WriteFile(command.json_file, ToJson(command.compare, comparisons, interrupted));
  if (interrupted) fmt::print(stderr, "store-bench: interrupted\n");
  return interrupted ? kInterrupted : kOk;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  return stout::program::RunCommand(
      "store-bench", [&] { return ParseStoreBench(argc, argv); }, Execute);
}
