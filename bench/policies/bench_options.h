#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "load/command_line.h"
#include "stout/core/policy.h"

namespace stout::bench {

/// The measurements: every policy at every rate, for every store, number of servers and number of
/// documents.
struct BenchOptions {
  std::vector<StoreChoice> stores;
  std::vector<std::size_t> servers = {1, 4, 16};
  std::vector<std::size_t> documents = {10000};
  std::vector<double> rates = {100, 1000, 10000, 60000};
  std::vector<Policy> policies;
  /// With these numbers of servers, also search for the highest rate.
  std::vector<std::size_t> sustained = {16};
  /// Steps of that search, besides those that are repeated: five bring a rate and ten times that
  /// to within 8 % of each other.
  int search_steps = 5;
  std::size_t repetitions = 1;
  Duration warmup = std::chrono::milliseconds(1200);  ///< Laws that learn need some dozen rounds.
  Duration measure = std::chrono::milliseconds(500);
  Duration max_p99 = std::chrono::milliseconds(500);
  /// If positive, the load is multiplied by this factor after the warm-up, at once.
  double step = 0;
  Duration slice{};  ///< length of the slices of the timelines; zero: no timelines
  std::size_t value_bytes = 256;
  std::uint64_t seed = 1;
  std::string json_file;
  std::string plot_data;
};

/// Returns the options of the command line, or the exit code after --help or an error, both
/// reported. Policies that this build does not know are left out with a line on stderr.
[[nodiscard]] std::variant<BenchOptions, ExitCode> ParseCommandLine(int argc,
                                                                    const char* const* argv,
                                                                    const std::string& program);

}  // namespace stout::bench
