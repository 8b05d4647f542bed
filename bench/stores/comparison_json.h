#pragma once

#include <string>
#include <vector>

#include "stores/comparison.h"

namespace stout::bench {

/// All results; README.md describes it.
[[nodiscard]] std::string ToJson(const CompareOptions& options,
                                 const std::vector<Comparison>& comparisons, bool interrupted);

}  // namespace stout::bench
