#pragma once

#include <cstdio>
#include <string_view>

#include "program/exit_code.h"
#include "stout/core/policy/basic.h"
#include "stout/sim/simulate.h"

namespace stout::sim {

/// The parts of a program with stout-sim's commands. Benchmarks build the same program with a
/// reader that knows policies of their own.
struct Tool {
  PolicyReader read_policy = MakePolicy;
  std::string_view policy_syntax = PolicySyntax();  ///< syntax that the reader reads, for --help
  std::FILE* out = stdout;
  std::FILE* err = stderr;
};

using program::ExitCode;
using enum program::ExitCode;

/// Runs `stout-sim`, as `stout-sim --help` and docs/SIMULATION.md describe. While it runs, the
/// first SIGINT or SIGTERM ends it in order (a grid keeps the points that it has), the second at
/// once.
///
/// Returns an ExitCode: kFailed if a file cannot be read or written, or has wrong content;
/// kBadOptions if the command line is wrong, an unknown policy included.
/// Errors: reported on `tool.err` in one line, with the remedy.   Threads: main's only.
[[nodiscard]] int RunCommandLine(int argc, const char* const* argv, const Tool& tool = {});

}  // namespace stout::sim
