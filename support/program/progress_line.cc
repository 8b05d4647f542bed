#include "program/progress_line.h"

#include <fmt/format.h>

namespace stout::program {

void ProgressLine::Show(std::string_view text) const {
  if (terminal_) fmt::print(to_, "\r\x1b[K{}", text);
}

void ProgressLine::Step(std::string_view text) const {
  if (terminal_) return Show(text);
  fmt::print(to_, "{}: {}\n", program_, text);
}

}  // namespace stout::program
