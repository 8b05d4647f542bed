#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The constants of Stout's law. The slides give none. "Swept": of some 400 settings that were
/// tried in the simulator (a FIFO store, 4, 32 and 128 servers, five loads; docs/OPTIONS.md has the
/// outcome), these did best at 32 servers of those under which the law still moves. Others score
/// alike because they drive the interval to its floor, which with one batch in flight is Natural.
struct StoutOptions {
  // --- The law -------------------------------------------------------------------------------

  double alpha = 0.02;     ///< A back-off lengthens the interval by this share. Swept.
  double beta = 0.02;      ///< Weight of the root in an acceleration. Swept.
  double weight = 0.02;    ///< Of the newest batch in the averages (EWMA). Swept.
  double tolerance = 0.2;  ///< A loss of performance up to this share is noise. Swept.
  /// Batches over which the maximum is taken, at most Stout::kMaxWindowBatches. Swept.
  std::size_t window_batches = 2;
  /// In which the interval is counted when its root is taken, and so the interval at which an
  /// acceleration does nothing: shorter ones it lengthens. Guess: the paper tells intervals in ms.
  Duration unit = std::chrono::milliseconds(1);
  Duration floor = std::chrono::microseconds(1);   ///< Shortest interval, > 0. Guess.
  Duration ceiling = std::chrono::seconds(1);      ///< Longest, >= floor. Guess.
  Duration start = std::chrono::milliseconds(20);  ///< Before the first batch. Guess.

  // --- What it takes to live with it -----------------------------------------------------------

  /// At most `in_flight` batches wait for the store. Without it one interval that is too short
  /// builds a queue without bound, which the law sees only as a ratio.
  bool guard_in_flight = true;
  std::size_t in_flight = 1;  ///< >= 1. Swept; a store that works in parallel takes more.
  /// At most one change a round trip: a batch sent before the last change says nothing about it.
  bool guard_round_trip = true;
  /// A batch that the interval did not hold back, because there was nothing to send when it had
  /// passed, changes nothing: a longer or shorter interval would have made no difference.
  bool guard_idle = true;
  /// A batch that failed (overload, time-out) is no measurement but a reason to back off.
  bool guard_failed = true;

  bool operator==(const StoutOptions&) const = default;
};

/// The published law of Stout, delay-based congestion control of the batching interval:
///
///     perf = batch / (latency + interval)              of the newest batch, items per second
///     recent = EWMA(batch) / (EWMA(latency) + EWMA(interval))    if the last step was a back-off
///              MAX over window_batches of batch_i / (latency_i + interval_i)     if it was not
///     perf < recent * (1 - tolerance):  interval <- (1 + alpha) * interval             back off
///     else:     interval <- (1 - beta) * interval + beta * sqrt(interval)            accelerate
///
/// All servers lengthen their intervals by the same share and long intervals shrink by a larger
/// share than short ones: that is what makes them equal in the end.
///
/// Where it is weak: with arrivals that do not wait, batch = rate * interval, so that perf rises
/// with the interval and falls with it only where batches hold one item; the maximum of noisy
/// batches is biased upwards; and the root is not free of units.
///
/// Units: performance is items per nanosecond.   Owner: value type.   Threads: none of its own.
/// Errors: cannot fail; requires options in range, as MakePolicy checks.
/// Paper: Stout (ATC'10), "Algorithm: Estimating Storage Capacity", "Achieving Fair Share".
class Stout {
 public:
  static constexpr std::size_t kMaxWindowBatches = 32;

  explicit Stout(const StoutOptions& options = {});

  [[nodiscard]] Decision Start() const { return Decide(); }
  Decision Observe(const BatchSample& sample);
  [[nodiscard]] std::string Name() const;

  [[nodiscard]] const StoutOptions& options() const { return options_; }
  bool operator==(const Stout&) const = default;

 private:
  /// The interval that held for sends from `since` on.
  struct Step {
    TimePoint since = TimePoint::min();
    Duration interval{};
    bool operator==(const Step&) const = default;
  };

  [[nodiscard]] Decision Decide() const;
  [[nodiscard]] Duration interval() const { return steps_[newest_step_].interval; }
  [[nodiscard]] Duration IntervalAt(TimePoint sent) const;
  [[nodiscard]] double Recent() const;
  void Record(double items, double latency, double interval);
  void BackOff(TimePoint now);
  void Accelerate(TimePoint now);
  void SetInterval(double nanoseconds, TimePoint now);

  StoutOptions options_;
  bool backed_off_ = false;
  std::uint64_t recorded_ = 0;  // batches
  double mean_items_ = 0;
  double mean_latency_ = 0;
  double mean_interval_ = 0;
  std::array<double, kMaxWindowBatches> perfs_{};  // a ring, of which window_batches are in use
  std::array<Step, kMaxWindowBatches> steps_{};    // a ring: what held when a batch was sent
  std::size_t newest_step_ = 0;
};

/// sqrt(interval) counted in `unit`: 8 ms for 64 ms in ms. Requires interval >= 0, unit > 0.
[[nodiscard]] double RootIn(Duration unit, double interval_ns);

/// Reads "alpha=0.1,guards=off". Nothing if it is malformed or out of range; `error` says what.
[[nodiscard]] std::optional<StoutOptions> ReadStoutOptions(std::string_view text,
                                                           std::string& error);

/// A line for each option: name, default, range, meaning.
[[nodiscard]] std::string DescribeStoutOptions();

}  // namespace stout::inline v1
