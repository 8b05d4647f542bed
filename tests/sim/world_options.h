#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stout/core/options.h"
#include "stout/core/types.h"

namespace stout::sim {

/// How often a thing goes wrong, in a thousand.
struct FaultRates {
  // Faults of a write or read on its way.
  std::uint64_t lose_request = 0;
  std::uint64_t lose_answer = 0;
  std::uint64_t apply_late = 0;  ///< A ghost write: after the attempt's time-out, or much later.
  std::uint64_t apply_twice = 0;
  std::uint64_t answer_twice = 0;
  // Faults of a batch at the store.
  std::uint64_t transient = 0;
  std::uint64_t unknown = 0;
  std::uint64_t partial = 0;  ///< Some items transient or unknown; only without atomic batches.
  // Faults of a change: the store will never take it, or the application cannot serialise it.
  std::uint64_t refused = 0;
  std::uint64_t unserialisable = 0;
  // Faults of a step of the world.
  std::uint64_t crash_server = 0;
  std::uint64_t crash_store = 0;
  std::uint64_t other_server = 0;
  std::uint64_t clock_jump = 0;
};

/// A world: everything in it follows from the seed.
struct WorldOptions {
  std::uint64_t seed = 0;
  EngineOptions engine;
  std::uint32_t keys = 1;
  LaneId lanes = 1;
  std::uint64_t max_value_bytes = 0;

  // The application.
  std::uint32_t steps = 0;  ///< In the phase with faults.
  Duration mean_pause{};    ///< Between steps.
  std::uint64_t flush = 0;  ///< Per thousand operations, like those that follow.
  std::uint64_t drain = 0;
  std::uint64_t close = 0;
  std::uint64_t fetch = 0;
  std::uint64_t erase = 0;

  // The store.
  bool atomic_batches = false;
  bool refusal_fails_batch = false;  ///< Atomic batches: a refused item rolls the others back.
  std::size_t store_max_items = 0;
  std::size_t store_max_bytes = 0;
  Duration min_latency{};
  Duration max_latency{};
  bool poison = false;  ///< Any batch with key 0 fails as a whole, also after all other faults.

  FaultRates faults;
};

/// The world of a seed.
[[nodiscard]] WorldOptions DeriveWorld(std::uint64_t seed);

/// All of it in a few lines.
[[nodiscard]] std::string Describe(const WorldOptions& options);

}  // namespace stout::sim
