#include "load/progress_line.h"

#include <fmt/format.h>

namespace stout::bench {

void ProgressLine::Show(std::string_view text) const {
  if (terminal_) fmt::print(stderr, "\r{:78}\r{}", "", text);
}

}  // namespace stout::bench
