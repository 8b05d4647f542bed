#pragma once

#include <cstdint>
#include <vector>

#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::bench {

/// The least-squares line through the latencies of changes over the times when they were due. If
/// the store does not keep up, latency grows by a share of each second.
///
/// Owner: value type.   Threads: none of its own.
class Trend {
 public:
  /// Seconds.
  void Add(double due, double latency) {
    count_ += 1;
    due_ += due;
    latency_ += latency;
    product_ += due * latency;
    square_ += due * due;
  }
  void Merge(const Trend& other) {
    count_ += other.count_;
    due_ += other.due_;
    latency_ += other.latency_;
    product_ += other.product_;
    square_ += other.square_;
  }
  /// Seconds per second; 0 where fewer than two times are known.
  [[nodiscard]] double Slope() const {
    const double spread = count_ * square_ - due_ * due_;
    return spread <= 0 ? 0 : (count_ * product_ - due_ * latency_) / spread;
  }

 private:
  double count_ = 0, due_ = 0, latency_ = 0, product_ = 0, square_ = 0;
};

/// Counters of an interposer at one time; the differences of two are what happened in between.
struct Totals {
  std::uint64_t changes = 0;  ///< Taken by MarkDirty.
  std::uint64_t writes = 0;   ///< Items sent.
  std::uint64_t batches = 0;

  Totals& operator+=(const Totals& other) {
    changes += other.changes;
    writes += other.writes;
    batches += other.batches;
    return *this;
  }
  friend Totals operator-(Totals a, const Totals& b) {
    return {a.changes - b.changes, a.writes - b.writes, a.batches - b.batches};
  }
};

/// Part of a run, since the start of the load.
struct Slice {
  std::uint64_t answered = 0;  ///< answered changes among those due in the slice
  double latency_s = 0;        ///< Theirs, summed.
  std::uint64_t batches = 0;   ///< Sent in it.
};

/// The results of a server's users for the changes that count.
struct ServerRecord {
  std::uint64_t offered = 0;
  std::uint64_t failed = 0;            ///< Pushed back, refused, or past a deadline.
  std::uint64_t unanswered = 0;        ///< Given up; their latency so far is in `latency`.
  bool overrun = false;                ///< Too many waited: the load was ended early.
  std::uint64_t answered_in_time = 0;  ///< Replies within the measured time, of whatever change.
  Histogram latency;                   ///< From due to reply, ns.
  Histogram lateness;                  ///< From due to issued: the generator's own delay, ns.
  Trend trend;
  Totals totals;              ///< Within the measured time.
  std::vector<Slice> slices;  ///< slices of the whole run, if requested
};

}  // namespace stout::bench
