// Runs the benchmarks interleaved, then prints each cost over that of the map in the same run.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace {

/// Google Benchmark's console output, and the medians for the table at the end.
class Reporter final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median") continue;
      const auto items = run.counters.find("items_per_second");
      const auto allocations = run.counters.find("allocs_per_op");
      if (items == run.counters.end()) continue;
      medians_[run.run_name.args][run.run_name.function_name] = {
          1e9 / items->second, allocations == run.counters.end() ? 0 : allocations->second.value};
    }
  }

  void PrintRatios() const {
    fmt::print("\n{:<26}{:>12}{:>14}{:>8}{:>14}{:>8}{:>16}\n", "median, ns per operation",
               "map upsert", "engine", "ratio", "interposer", "ratio", "engine allocs");
    for (const auto& [arguments, by_name] : medians_) {
      const auto map = by_name.find("BM_MapUpsert");
      const auto engine = by_name.find("BM_Engine");
      const auto shell = by_name.find("BM_Interposer");
      if (map == by_name.end() || engine == by_name.end() || shell == by_name.end()) continue;
      const double base = map->second.nanoseconds;
      fmt::print("{:<26}{:>12.1f}{:>14.1f}{:>8.2f}{:>14.1f}{:>8.2f}{:>16.4f}\n", arguments, base,
                 engine->second.nanoseconds, engine->second.nanoseconds / base,
                 shell->second.nanoseconds, shell->second.nanoseconds / base,
                 engine->second.allocations);
    }
  }

 private:
  struct Median {
    double nanoseconds;
    double allocations;
  };
  std::map<std::string, std::map<std::string, Median>> medians_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::string repetitions = "--benchmark_repetitions=7";
  std::string aggregates = "--benchmark_report_aggregates_only=true";
  // Defaults go first: what the user says overrides them.
  for (std::string* option : {&aggregates, &repetitions, &interleave}) {
    arguments.insert(arguments.begin() + 1, option->data());
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  Reporter reporter;
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) return 1;
  reporter.PrintRatios();
  benchmark::Shutdown();
}
