#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/sim/command_line.h"
#include "stout/sim/json_text.h"

namespace stout::sim::internal {

// The options of each command. A policy's text is read by the command.

struct RunOptions {
  std::filesystem::path scenario;
  std::vector<std::string> policies;  ///< Servers take them in turn. Empty: the scenario's.
  std::optional<std::uint64_t> seed;
  std::filesystem::path trace;  ///< A recording. Empty: the scenario's arrivals.
  bool json = false;
};

struct OracleOptions {
  std::filesystem::path scenario;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

struct SweepCommandOptions {
  std::filesystem::path scenario;
  std::vector<std::string> policies;
  std::vector<double> rates;  ///< Per second.
  std::vector<double> loads;  ///< Or in percent of the capacity.
  unsigned jobs = 1;
  bool json = false;
};

struct GridOptions {
  std::filesystem::path grid;
  std::vector<std::string> policies;
  unsigned jobs = 1;
  std::optional<std::uint32_t> seeds;  ///< Instead of the grid's.
  std::string only;                    ///< Part of the names of the points to run.
  std::string json_file;               ///< Empty: none; "-": the standard output.
  bool resume = false;
  bool without_oracle = false;
  std::filesystem::path baseline;
  bool list = false;
  std::string print_scenario;  ///< Name of a point.
};

struct PlotOptions {
  enum class Kind { kTimeline, kSweep, kGrid };
  Kind kind = Kind::kTimeline;
  std::vector<std::filesystem::path> files;
  std::filesystem::path output;
  bool script = false;  ///< Print what gnuplot would be told.
};

struct ReplicationOptions {
  std::uint32_t members = 3;
  bool memory = false;  ///< Otherwise durable.
  std::vector<std::string> policies = {"natural", "adaptive"};
  std::vector<double> loads = {10, 50, 90};  ///< Percent of the writes of perfect batching.
  double read_fraction = 0.5;
  double duration_s = 2;  ///< Of each run, after the warm-up.
  unsigned jobs = 1;
  std::uint64_t seed = 1;
  std::string json_file;  ///< Empty: none; "-": the standard output.
};

struct DeploymentOptions {
  std::vector<std::uint32_t> nodes = {3, 10, 30, 100};
  std::vector<RangeId> ranges = {16, 100, 1000};
  std::uint32_t replicas = 3;
  double ttl_s = 10;
  double event_us = 50;
  unsigned jobs = 1;
  std::string json_file;  ///< Empty: none; "-": the standard output.
};

struct ModesOptions {
  std::vector<std::string> modes = {"ms+sc", "ms+ec", "aa+ec"};
  std::vector<std::uint32_t> nodes = {3, 6, 12, 24, 48};
  std::vector<RangeId> ranges = {192};
  std::uint32_t replicas = 3;
  std::vector<double> gets = {95, 50};   ///< Percent of the requests.
  std::vector<double> zipf = {0, 0.99};  ///< Exponents of Zipf's law; 0: uniform.
  std::uint64_t keys = 1'000'000;
  std::uint32_t clients = 64;  ///< For each node.
  double duration_s = 0.1;     ///< Of each run, after the warm-up.
  unsigned jobs = 1;
  std::uint64_t seed = 1;
  std::string json_file;  ///< Empty: none; "-": the standard output.
};

struct SchemaOptions {
  std::string of = "scenario";  ///< Or "grid", "result".
  bool table = false;
};

using Command =
    std::variant<RunOptions, OracleOptions, SweepCommandOptions, GridOptions, PlotOptions,
                 ReplicationOptions, DeploymentOptions, ModesOptions, SchemaOptions>;

/// Why a command could not be carried out, and the exit status for it.
struct CommandError : std::runtime_error {
  CommandError(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), status(exit_code) {}
  ExitCode status;
};

// Each throws CommandError, or PlotError.
ExitCode Execute(const RunOptions& options, const Tool& tool);
ExitCode Execute(const OracleOptions& options, const Tool& tool);
ExitCode Execute(const SweepCommandOptions& options, const Tool& tool);
ExitCode Execute(const GridOptions& options, const Tool& tool);
ExitCode Execute(const PlotOptions& options, const Tool& tool);
ExitCode Execute(const ReplicationOptions& options, const Tool& tool);
ExitCode Execute(const DeploymentOptions& options, const Tool& tool);
ExitCode Execute(const ModesOptions& options, const Tool& tool);
ExitCode Execute(const SchemaOptions& options, const Tool& tool);

// --- What they share ---------------------------------------------------------------------------

/// The text of a file. Throws CommandError.
[[nodiscard]] std::string ReadFile(const std::filesystem::path& file);
/// Replaces the file, never leaving half of it; "-" is `tool.out`. Throws CommandError.
void WriteFile(const std::filesystem::path& file, const std::string& text, const Tool& tool);

/// The value, or a CommandError that names the file.
template <typename T>
T FromFile(Parsed<T> parsed, const std::filesystem::path& file) {
  if (!parsed) throw CommandError(kFailed, file.string() + ": " + parsed.error().what);
  return *std::move(parsed);
}

/// The policies of the command line, by the names that they were asked for. Throws CommandError.
[[nodiscard]] std::vector<std::pair<std::string, Policy>> PoliciesOf(
    const std::vector<std::string>& texts, const Tool& tool);

}  // namespace stout::sim::internal
