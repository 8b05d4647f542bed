#pragma once

#include <cstdint>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/pool.h"
#include "stout/core/types.h"

namespace stout::sim::internal {
using namespace stout::internal;

/// A batch between its sending and its answer.
struct Flight {
  WriteBatch batch;
  std::uint32_t client = 0;
  TimePoint sent{};
  // Kept by the store.
  std::uint32_t parts = 1;       ///< Queues that it was split over.
  std::uint32_t parts_left = 1;  ///< parts that are not done yet
  std::vector<LaneId> dropped;   ///< Partitions that turned their part away.
};

using FlightPool = Pool<Flight>;
using FlightId = FlightPool::Index;

}  // namespace stout::sim::internal
