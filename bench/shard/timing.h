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

/// Returns the median; of an even number of times, the greater one in the middle, which flatters
/// none.
[[nodiscard]] double Median(std::vector<double> numbers);

/// A fixed batch: operations that are called by number, from 0.
struct Batch {
  std::size_t calls = 0;
  std::size_t operations_per_call = 1;  ///< more than 1 if a call makes several at once
  double longest_s = std::numeric_limits<double>::infinity();  ///< For one run of it.
};

/// The times of one contender for a batch, run by run.
struct Timing {
  std::size_t operations = 0;  ///< calls of the batch, or of the part that was run
  std::vector<double> cpu_s;   ///< processor time of the calling thread, per batch
  std::vector<double> wall_s;
  Histogram call_latency;  ///< wall-clock times of calls, in ns

  /// Operations per second of the thread's processor: in the best batch, and in the median one. On
  /// a machine with other work, the best is the one that was disturbed least. The work of servers
  /// and other threads meanwhile is not included.
  [[nodiscard]] double BestPerCpuSecond() const;
  [[nodiscard]] double MedianPerCpuSecond() const;
  /// By the wall's clock, in which servers and other threads are.
  [[nodiscard]] double BestPerSecond() const;
  [[nodiscard]] double MedianPerSecond() const;
};

/// Runs one call of a batch.
using Call = std::function<void(std::size_t)>;

/// Runs the batch by the calls of each contender `repeats` times in turns, A B C A B C, so that
/// other work on the machine affects all alike. A turn before these warms up, and measures how far
/// each contender comes in the longest time. A contender that does not reach the end runs that
/// number of calls in a turn, and continues the batch in the next. Latencies come from one more
/// turn, so that reading the clock around each call is not in the throughput. Requires calls and
/// repeats.
///
/// Threads: all calls are on the calling thread.   Errors: an exception of a call ends the run.
[[nodiscard]] std::vector<Timing> MeasureInTurns(const std::vector<Call>& calls, const Batch& batch,
                                                 std::size_t repeats);

}  // namespace stout::bench::shard
