#pragma once

#include <string>

#include "shard/comparison.h"

namespace stout::bench::shard {

/// All results as JSON; README.md describes it.
[[nodiscard]] std::string ToJson(const CompareOptions& options, const Comparison& comparison);

/// The figures that matter, as tables for a terminal, and the peers that were left out, with the
/// reason.
[[nodiscard]] std::string ToText(const Comparison& comparison);

}  // namespace stout::bench::shard
