#pragma once

#include <cstdio>
#include <string_view>

#include "stout/core/policy/basic.h"
#include "stout/sim/simulate.h"

namespace stout::sim {

/// What a program of stout-sim's commands is made of. Benchmarks have policies of their own: they
/// build the same program with a reader that knows more.
struct Tool {
  PolicyReader read_policy = MakePolicy;
  std::string_view policy_syntax = PolicySyntax();  ///< What the reader reads, for --help.
  std::FILE* out = stdout;
  std::FILE* err = stderr;
};

/// The exit status of the program.
enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,        ///< A file that cannot be read or written, or says what cannot be.
  kBadArguments = 2,  ///< The command line is wrong, an unknown policy included.
  kInterrupted = 130,
};

/// Runs `stout-sim`: what `stout-sim --help` and docs/SIMULATION.md say. While it runs, the first
/// SIGINT ends it in good order (a grid keeps what it has), the second at once.
///
/// Errors: told to `tool.err` in one line, with the remedy; see ExitStatus.   Threads: main's only.
[[nodiscard]] int RunCommandLine(int argc, const char* const* argv, const Tool& tool = {});

}  // namespace stout::sim
