#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"

namespace stout::bench {

/// Reads all that MakePolicy reads, and the laws of other systems: `fdb`, `fdb:1.0` (share of the
/// latency), `datadog`, `kafka`, `vegas`, `gradient2`. Nothing if the text is none of these; then
/// `*error`, if there is one, says what is wrong.
[[nodiscard]] std::optional<Policy> MakeOpponent(std::string_view text,
                                                 std::string* error = nullptr);

/// What MakeOpponent reads, for help texts.
[[nodiscard]] std::string_view OpponentSyntax();

}  // namespace stout::bench
