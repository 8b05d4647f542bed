#pragma once

#include <string>
#include <variant>

#include "load/command_line.h"
#include "stores/comparison.h"

namespace stout::bench {

/// The options of the command line.
struct StoreBenchCommand {
  CompareOptions compare;
  std::string json_file = "-";
};

/// Returns the command, or the exit code after --help or an error, which has been printed.
[[nodiscard]] std::variant<StoreBenchCommand, ExitCode> ParseStoreBench(int argc,
                                                                        const char* const* argv);

}  // namespace stout::bench
