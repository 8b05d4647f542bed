#pragma once

#include <boost/json.hpp>
#include <string>

#include "load/trial_result.h"
#include "stout/core/types.h"

namespace stout::bench {

/// Rounds to four significant digits, because a measurement is not more exact.
[[nodiscard]] double Rounded(double value);

[[nodiscard]] double Milliseconds(Duration duration);

/// "2026-11-30T23:59:59Z".
[[nodiscard]] std::string UtcNow();

/// policies/README.md explains the members.
[[nodiscard]] boost::json::object ToJson(const TrialResult& trial);

/// Writes the text and a newline, to the standard output if `file` is "-". Throws
/// std::runtime_error if it cannot.
void WriteFile(const std::string& file, const std::string& text);

}  // namespace stout::bench
