#include "program/progress_line.h"

#include "program/tell.h"

namespace stout::program {

void ProgressLine::Show(std::string_view text) const {
  if (terminal_) Tell(to_, "\r\x1b[K{}", text);
}

void ProgressLine::Step(std::string_view text) const {
  if (terminal_) return Show(text);
  Tell(to_, "{}: {}\n", program_, text);
}

}  // namespace stout::program
