#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "blowfish/load/loader.h"
#include "blowfish/load/record_splitter.h"
#include "program/exit_code.h"

namespace stout::blowfish {

using program::ExitCode;

/// The options of blowfish-load.
struct LoadOptions {
  std::vector<std::string> files;  ///< "-" is the standard input.
  LoaderOptions loader{};
  SplitOptions split{};
  std::size_t max_line = std::size_t{1} << 20;
  std::uint64_t skip_lines = 0;  ///< lines of all files together
  bool skip_header = false;      ///< The first line of each file.
  bool quiet = false;            ///< Errors alone are printed.
  bool dry_run = false;          ///< sends nothing
  /// Time between two reports of the progress. nullopt: 200 ms on a terminal, otherwise 5 s.
  std::optional<std::chrono::milliseconds> report_interval{};
};

/// Reads the command line. Returns the exit code after --help or an error, which has been printed.
/// `password`: from the environment, may be null.
[[nodiscard]] std::variant<LoadOptions, ExitCode> ParseLoadOptions(int argc,
                                                                   const char* const* argv,
                                                                   const char* password);

}  // namespace stout::blowfish
