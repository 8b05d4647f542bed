#pragma once

#include <cstdint>

#include "stout/core/histogram.h"

namespace stout::bench::shard {

/// The events in some time: in a slice, or in several slices.
///
/// A request is offered once, when it is due. Later it is unsent, answered or failed once, unless
/// it is still under way at the end. A request that is answered in a slice may have been offered in
/// an earlier one.
///
/// Owner: value type.   Threads: none of its own.
struct Tally {
  std::uint64_t offered = 0;
  std::uint64_t unsent = 0;    ///< because too many were under way
  std::uint64_t answered = 0;  ///< with the right reply
  std::uint64_t failed = 0;    ///< with an error, or with the reply that the key does not exist
  Histogram latency;           ///< of the answered ones, from due to answered, ns

  void Merge(const Tally& other) {
    offered += other.offered;
    unsent += other.unsent;
    answered += other.answered;
    failed += other.failed;
    latency.Merge(other.latency);
  }
  /// Requests without an outcome so far.
  [[nodiscard]] std::uint64_t UnderWay() const { return offered - unsent - answered - failed; }
};

}  // namespace stout::bench::shard
