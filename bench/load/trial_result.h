#pragma once

#include <cstdint>
#include <vector>

#include "load/server_record.h"
#include "stout/core/types.h"

namespace stout::bench {

/// Part of a trial, since the start of the load; unlike the rest of the result, the warm-up counts.
struct TrialSlice {
  double at_s = 0;
  double mean_ms = 0;      ///< latency of the changes due in the slice; 0 if none was answered
  double interval_ms = 0;  ///< Mean time between two sends of a server; 0 if none sent.
};

/// The results of a trial. A latency lasts from the time at which a change was due to its reply. A
/// change without an answer counts with its wait until the end.
struct TrialResult {
  double offered_per_s = 0;
  double answered_per_s = 0;
  double mean_ms = 0, p50_ms = 0, p99_ms = 0, p999_ms = 0, max_ms = 0;
  double growth = 0;           ///< growth of the latency, in seconds per second
  double batch_items = 0;      ///< Writes per batch.
  double interval_ms = 0;      ///< Mean time between two sends of a server; 0 if none sent.
  double collapse_ratio = 1;   ///< Changes per write.
  double jain_latency = 1;     ///< Jain's index over the servers' mean latencies.
  double jain_throughput = 1;  ///< Over the servers' answers.
  double lateness_p99_ms = 0;  ///< How late the load generator was: is this machine fast enough?
  double measured_s = 0;
  bool overrun = false;  ///< the trial was ended early because too many changes waited
  std::uint64_t offered = 0, failed = 0, unanswered = 0;
  std::vector<TrialSlice> timeline;  ///< If a slice was given: those that were over at the end.

  /// A latency that grows by that much is a backlog that builds up, for 10 % more was offered than
  /// the store took. Less than that, a short trial cannot tell from noise.
  static constexpr double kMaxGrowth = 0.1;
  /// Tolerated apparent growth of the latency over the trial, as a share of its mean. It occurs if
  /// a long interval begins and ends within the trial. Guess: tick:160ms, alone, passes.
  static constexpr double kSwing = 0.25;

  /// Returns true if all servers kept up: every change succeeded, 99 % of them within `bound`, and
  /// latency did not grow.
  [[nodiscard]] bool Sustained(Duration bound) const;
};

/// Summarises the records of a trial's servers, except the timeline.
[[nodiscard]] TrialResult Summarize(const std::vector<const ServerRecord*>& records,
                                    Duration measured);

/// Field by field, of trials of one length; counts are summed. Requires that there is one.
[[nodiscard]] TrialResult Median(const std::vector<TrialResult>& trials);

/// (sum x)^2 / (n * sum x^2): 1 if all are equal, 1/n if one has everything. 1 if all are zero.
class JainIndex {
 public:
  void Add(double x) {
    count_ += 1;
    sum_ += x;
    squares_ += x * x;
  }
  [[nodiscard]] double Value() const {
    return squares_ == 0 ? 1 : sum_ * sum_ / (count_ * squares_);
  }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

}  // namespace stout::bench
