#pragma once

#include <boost/json.hpp>
#include <string>

#include "load/trial_result.h"
#include "stout/core/types.h"

namespace stout::bench {

/// To four significant digits: there is no more to a measurement.
[[nodiscard]] double Rounded(double value);

[[nodiscard]] double Milliseconds(Duration duration);

/// "2026-11-30T23:59:59Z".
[[nodiscard]] std::string UtcNow();

/// policies/README.md says what the members mean.
[[nodiscard]] boost::json::object ToJson(const TrialResult& trial);

/// With a newline behind it; to the standard output if `file` is "-".
/// Throws std::runtime_error if it cannot.
void WriteFile(const std::string& file, const std::string& text);

}  // namespace stout::bench
