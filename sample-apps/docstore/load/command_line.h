#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "load/load_options.h"
#include "program/exit_code.h"

namespace stout::load {

using program::ExitCode;
using enum program::ExitCode;

// The exit codes of docstore-load alone; also in its --help.
inline constexpr ExitCode kViolated{3};    ///< --verify found lost, stale or invalid values.
inline constexpr ExitCode kUnverified{4};  ///< --verify could not read all values back in time.
inline constexpr ExitCode kTooSlow{5};     ///< Above --max-p99, or a request failed.

/// `docstore-load report`.
struct ReportOptions {
  std::vector<std::filesystem::path> files;
  std::string json_file;  ///< Empty: none.
  std::string plot_data;  ///< A directory; empty: none.
};

/// The command, or the exit code after --help or an error, which has been printed.
using Command = std::variant<LoadOptions, ReportOptions, ExitCode>;

[[nodiscard]] Command ParseCommandLine(int argc, const char* const* argv);

}  // namespace stout::load
