#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"

namespace stout::bench {

/// Reads the syntax of MakePolicy, and the laws of other systems: `fdb`, `fdb:1.0` (share of the
/// latency), `datadog`, `kafka`, `vegas`, `gradient2`. Returns nullopt if the text is none of
/// these. Then `*error`, unless null, gives the cause.
[[nodiscard]] std::optional<Policy> MakeOpponent(std::string_view text,
                                                 std::string* error = nullptr);

/// Returns the syntax that MakeOpponent reads, for help texts.
[[nodiscard]] std::string_view OpponentSyntax();

}  // namespace stout::bench
