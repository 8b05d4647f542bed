#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "stout/core/histogram.h"

namespace stout::bench::shard {

/// Seconds of a processor that the calling thread has had, and all of this process.
/// @{
[[nodiscard]] double ThreadCpuSeconds();
[[nodiscard]] double ProcessCpuSeconds();
/// @}

/// Of an even number, the greater one of those in the middle: of times, none flatters.
[[nodiscard]] double Median(std::vector<double> numbers);

/// A fixed batch: operations that are called by number, from 0.
struct Batch {
  std::size_t calls = 0;
  std::size_t operations_per_call = 1;  ///< Of which a call makes several at once.
  double longest_s = std::numeric_limits<double>::infinity();  ///< For one run of it.
};

/// What one contender took for a batch, time and again.
struct Timing {
  std::size_t operations = 0;  ///< Of the batch, or of as much of it as was run.
  std::vector<double> cpu_s;   ///< Of the calling thread, a batch each.
  std::vector<double> wall_s;
  Histogram call_latency;  ///< Of calls, by the wall's clock, in ns.

  /// Operations per second of the thread's processor: of the best batch, the median one. On a
  /// machine that others use, too, the best is the one that they disturbed least. What servers and
  /// other threads do meanwhile is not in it.
  [[nodiscard]] double BestPerCpuSecond() const;
  [[nodiscard]] double MedianPerCpuSecond() const;
  /// By the wall's clock, in which servers and other threads are.
  [[nodiscard]] double BestPerSecond() const;
  [[nodiscard]] double MedianPerSecond() const;
};

/// Runs one call of a batch.
using Call = std::function<void(std::size_t)>;

/// Runs the batch by the calls of each contender `repeats` times in turns, A B C A B C, so that
/// whatever else happens on the machine hits all alike. A turn before these warms up, and tells how
/// far each comes in the longest time: who does not come to the end runs so many calls in a turn,
/// and goes on with the batch in the next. Latencies come from one more turn, so that reading the
/// clock around each call is not in the throughput. Requires calls and repeats.
///
/// Threads: all calls are on the calling thread.   Errors: what a call throws ends it all.
[[nodiscard]] std::vector<Timing> MeasureInTurns(const std::vector<Call>& calls, const Batch& batch,
                                                 std::size_t repeats);

}  // namespace stout::bench::shard
