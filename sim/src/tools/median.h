#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "stout/sim/oracle.h"
#include "stout/sim/result.h"

namespace stout::sim::internal {

inline const Result& ResultIn(const Result& result) { return result; }
inline const Result& ResultIn(const Best& best) { return best.result; }

/// The run with the median mean write latency. Unstable runs count as slower than all stable ones,
/// so the median is unstable if most runs are. Requires runs; of an even number, the upper of the
/// two in the middle.
template <typename Run>
Run MedianOf(std::vector<Run> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    const Result& first = ResultIn(a);
    const Result& second = ResultIn(b);
    return std::pair(!first.stable, first.write_latency_ms.mean) <
           std::pair(!second.stable, second.write_latency_ms.mean);
  });
  return std::move(runs[runs.size() / 2]);
}

}  // namespace stout::sim::internal
