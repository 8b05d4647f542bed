#pragma once

#include <string>

#include "load/command_line.h"
#include "policies/sweep.h"

namespace stout::bench {

/// A program that compares policies, and how it runs a trial.
struct BenchProgram {
  std::string name;
  TrialRunner run_trial;
};

/// The program as a whole: reads the command line, measures, reports.
[[nodiscard]] ExitCode RunBench(int argc, const char* const* argv, const BenchProgram& program);

}  // namespace stout::bench
