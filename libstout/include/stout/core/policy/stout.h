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

/// The constants of Stout's law. The authors' slides give no values.
///
/// "Swept": chosen from some 400 settings in the simulator, with a FIFO store, 4, 32 and 128
/// servers, and five loads; docs/OPTIONS.md has the outcome. These settings did best at 32 servers
/// among those under which the law still changes the interval. Others score alike because they
/// drive the interval to its floor. With one batch in flight, that is Natural.
struct StoutOptions {
  // --- The law -------------------------------------------------------------------------------

  double alpha = 0.02;     ///< a back-off lengthens the interval by this share; swept
  double beta = 0.02;      ///< weight of the root in an acceleration; swept
  double weight = 0.02;    ///< weight of the newest batch in the averages (EWMA); swept
  double tolerance = 0.2;  ///< a loss of performance up to this share is noise; swept
  /// Batches over which the maximum is taken, at most Stout::kMaxWindowBatches. Swept.
  std::size_t window_batches = 2;
  /// Unit of the interval when its root is taken. An acceleration leaves an interval of one unit
  /// unchanged and lengthens shorter ones. Guess: the paper gives intervals in ms.
  Duration unit = std::chrono::milliseconds(1);
  Duration floor = std::chrono::microseconds(1);   ///< shortest interval, > 0; guess
  Duration ceiling = std::chrono::seconds(1);      ///< longest interval, >= floor; guess
  Duration start = std::chrono::milliseconds(20);  ///< interval before the first batch; guess

  // --- Guards that are not in the paper ----------------------------------------------------------

  /// Limits the batches in flight to `in_flight`. Without it, an interval that is too short builds
  /// a queue without bound, which the law sees only as a ratio.
  bool guard_in_flight = true;
  std::size_t in_flight = 1;  ///< >= 1; swept; use more for a parallel store
  /// Allows at most one change of the interval per round trip. A batch sent before the last change
  /// gives no information about it.
  bool guard_round_trip = true;
  /// Ignores a batch that the interval did not delay, because nothing waited when the interval had
  /// passed. Another interval would have made no difference.
  bool guard_idle = true;
  /// Backs off after a batch that failed (overload, timeout), and does not use it as a measurement.
  bool guard_failed = true;

  bool operator==(const StoutOptions&) const = default;
};

/// The published law of Stout: delay-based congestion control of the batching interval.
///
///     perf = batch / (latency + interval)              of the newest batch, items per second
///     recent = EWMA(batch) / (EWMA(latency) + EWMA(interval))    if the last step was a back-off
///              MAX over window_batches of batch_i / (latency_i + interval_i)     otherwise
///     perf < recent * (1 - tolerance):  interval <- (1 + alpha) * interval             back off
///     otherwise: interval <- (1 - beta) * interval + beta * sqrt(interval)           accelerate
///
/// All servers lengthen their intervals by the same share, and long intervals shrink by a larger
/// share than short ones. Therefore all intervals become equal in the end.
///
/// Weaknesses:
/// - If arrivals do not wait for answers, batch = rate * interval. Then perf rises with the
///   interval, except while batches hold one item.
/// - The maximum of noisy batches is biased upwards.
/// - The root depends on the unit.
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
  /// The interval of sends from `since` on.
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
  std::array<double, kMaxWindowBatches> perfs_{};  // a ring with window_batches entries in use
  std::array<Step, kMaxWindowBatches> steps_{};    // a ring: the interval when a batch was sent
  std::size_t newest_step_ = 0;
};

/// Returns sqrt(interval) counted in `unit`: 8 ms for 64 ms in ms. Requires interval >= 0 and
/// unit > 0.
[[nodiscard]] double RootIn(Duration unit, double interval_ns);

/// Reads "alpha=0.1,guards=off". Returns nullopt if it is malformed or out of range; then `error`
/// gives the cause.
[[nodiscard]] std::optional<StoutOptions> ReadStoutOptions(std::string_view text,
                                                           std::string& error);

/// Returns a line for each option: name, default, range, meaning.
[[nodiscard]] std::string DescribeStoutOptions();

}  // namespace stout::inline v1
