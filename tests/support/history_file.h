#pragma once

#include <iosfwd>
#include <vector>

#include "tests/support/history_checker.h"

namespace stout::test {

/// One JSON object a line; tests/corpus/histories/README.md defines its members.

/// Throws std::runtime_error with the number of the line and its fault. Skips empty lines.
[[nodiscard]] std::vector<Operation> ReadHistory(std::istream& lines);

void WriteHistory(std::ostream& lines, const std::vector<Operation>& history);

}  // namespace stout::test
