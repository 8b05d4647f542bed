#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "program/progress_line.h"

namespace stout::sim::internal {

/// Shows one line on a terminal: the progress of a long job and the remaining time. Shows nothing
/// if `to` is not a terminal, or if the job is short.
class Progress {
 public:
  /// Owner: `to` must outlive it.
  Progress(std::FILE* to, std::string_view what);

  /// `share` of the work is done, 0 to 1.
  void Show(double share);

 private:
  using WallClock = std::chrono::steady_clock;

  program::ProgressLine line_;
  std::string what_;
  WallClock::time_point start_ = WallClock::now();
  WallClock::time_point next_;
};

}  // namespace stout::sim::internal
