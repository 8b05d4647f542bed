#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace stout::bench {

/// Shows the progress of a program on standard error. A terminal shows one line that changes, and
/// is gone at the end. A file or a log gets only the steps, a line each.
class ProgressLine {
 public:
  /// `program`: what lines elsewhere begin with.   Owner: `to` outlives it.
  explicit ProgressLine(std::string_view program, std::FILE* to = stderr)
      : program_(program), to_(to), terminal_(isatty(fileno(to)) == 1) {}
  ~ProgressLine() { Show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// In place of what was shown before.
  void Show(std::string_view text) const;
  /// Likewise, of what takes long and comes some dozens of times at most.
  void Step(std::string_view text) const;

 private:
  const std::string program_;
  std::FILE* const to_;
  const bool terminal_;
};

}  // namespace stout::bench
