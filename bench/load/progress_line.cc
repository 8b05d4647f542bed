#include "load/progress_line.h"

#include <fmt/format.h>

namespace stout::bench {

void ProgressLine::Show(std::string_view text) const {
  if (terminal_) fmt::print(to_, "\r{:78}\r{}", "", text);
}

void ProgressLine::Step(std::string_view text) const {
  if (terminal_) return Show(text);
  fmt::print(to_, "{}: {}\n", program_, text);
}

}  // namespace stout::bench
