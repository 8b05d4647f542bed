#pragma once

#include <unistd.h>

#include <string_view>

namespace stout::bench {

/// One line on standard error that changes, for a person at the terminal, and is gone at the end;
/// nothing where there is no terminal.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { Show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// In place of what was shown before.
  void Show(std::string_view text) const;

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace stout::bench
