#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace stout::program {

/// Shows the progress of a program. A terminal shows one line that changes, and is gone at the end.
/// A file or a log gets only the steps, a line each.
class ProgressLine {
 public:
  /// `program`: the name that begins a line of a file.   Owner: `to` outlives it.
  explicit ProgressLine(std::string_view program, std::FILE* to = stderr)
      : program_(program), to_(to), terminal_(isatty(fileno(to)) == 1) {}
  ~ProgressLine() { Show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  [[nodiscard]] bool terminal() const { return terminal_; }
  /// Replaces the line, for a terminal only.
  void Show(std::string_view text) const;
  /// Replaces the line, for a step that takes long. A program has some dozens of steps at most.
  void Step(std::string_view text) const;

 private:
  const std::string program_;
  std::FILE* const to_;
  const bool terminal_;
};

}  // namespace stout::program
