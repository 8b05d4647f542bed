#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "load/load_options.h"

namespace stout::load {

/// How docstore-load ends; also in its --help.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,  ///< The run could not be made: no server, no answer, a file not written.
  kBadOptions = 2,
  kViolated = 3,       ///< --verify found lost, stale or invalid values.
  kUnverified = 4,     ///< --verify could not read everything back in time.
  kTooSlow = 5,        ///< Slower than --max-p99, or not all was answered with success.
  kInterrupted = 130,  ///< Ctrl-C or SIGTERM; what had been measured was reported.
};

/// `docstore-load report`.
struct ReportOptions {
  std::vector<std::filesystem::path> files;
  std::string json_file;  ///< Empty: none.
  std::string plot_data;  ///< A directory; empty: none.
};

/// What to do, or how to end because --help or a mistake was answered already.
using Command = std::variant<LoadOptions, ReportOptions, ExitCode>;

[[nodiscard]] Command ParseCommandLine(int argc, const char* const* argv);

}  // namespace stout::load
