#pragma once

namespace stout::sim {

/// A grid file with two points, which run in a moment.
inline constexpr const char* kTwoPoints = R"({
  "round_trips": 60, "warmup_round_trips": 20, "min_changes": 4000, "min_batches": 0,
  "max_changes": 4000,
  "stores": [{"name": "base"}],
  "client_counts": [4, 16],
  "loads_percent": [45]
})";

}  // namespace stout::sim
