#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "load/schedule.h"
#include "load/workload.h"
#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::load {

/// Why a request was not done.
enum class Failure : std::uint8_t {
  kExpired,     ///< Could not be sent within the time-out: every connection was full or down.
  kTimeout,     ///< Sent, no answer within the time-out. A write may have happened.
  kConnection,  ///< The connection was lost after sending. A write may have happened.
  kPushedBack,  ///< 503: the server holds as much as it may, or is draining.
  kRefused,     ///< Any other status that is not success.
  kAborted,     ///< Still without an answer when the run was interrupted.
};
inline constexpr std::size_t kFailures = 6;

/// "expired", "timeout", ...: as in the report.
[[nodiscard]] std::string_view NameOf(Failure failure);

/// The measurements of one kind of request in one stretch of time.
struct OpStats {
  std::uint64_t offered = 0;  ///< Due in this stretch.
  std::uint64_t done = 0;  ///< offered ones with an answer of success (a read's 404 is one), ever
  std::uint64_t answered = 0;  ///< Answered with success in this stretch, whenever due.
  std::array<std::uint64_t, kFailures> failed{};  ///< offered ones that failed, by Failure
  Histogram latency;  ///< latency of the done ones, from due to answered

  [[nodiscard]] std::uint64_t Failed() const;
  [[nodiscard]] std::uint64_t Outstanding() const { return offered - done - Failed(); }
  void Merge(const OpStats& other);
};

struct Window {
  OpStats reads;
  OpStats writes;
  Histogram send_delay;  ///< From due to sent: the wait for a free place on a connection.

  OpStats& Of(Op op) { return op == Op::kRead ? reads : writes; }
  void Merge(const Window& other);
};

/// A histogram's figures.
struct LatencySummary {
  Duration mean{}, p50{}, p90{}, p99{}, p999{}, max{};

  explicit LatencySummary(const Histogram& histogram);
};

/// One second of the run, as it is kept once every request due in it has ended.
struct SecondSummary {
  struct PerOp {
    std::uint64_t offered, done, answered, failed;
    LatencySummary latency;

    explicit PerOp(const OpStats& op);
  };
  PerOp reads, writes;
};

/// Measures a run: by step, by second and in total. A request belongs to the step and second in
/// which it was due; only `answered` counts by the time of the answer. The warm-up (before 0) is
/// not recorded. A second whose requests have all ended shrinks to its summary, so that an hour of
/// load does not cost a histogram a second.
///
/// Owner: value type, not copyable.   Threads: none of its own.
class Recorder {
 public:
  Recorder(const std::vector<Step>& steps, Duration end);

  void OnOffered(Op op, TimePoint due);
  void OnSent(TimePoint due, TimePoint now);
  void OnDone(Op op, TimePoint due, TimePoint now);
  void OnFailed(Op op, TimePoint due, Failure failure);

  [[nodiscard]] const std::vector<Window>& steps() const { return steps_; }
  [[nodiscard]] Window Total() const;
  /// All seconds up to `end`; closes those that are still open.
  [[nodiscard]] const std::vector<SecondSummary>& Seconds(TimePoint end);
  /// The newest whole second before `now` that is still open, for the progress line; may be null.
  [[nodiscard]] const Window* LastSecond(TimePoint now) const;

 private:
  Window& StepAt(TimePoint t);
  Window& SecondAt(TimePoint t);
  void CloseSecondsBefore(std::size_t second);
  void CloseOldest();

  std::vector<TimePoint> step_starts_;
  std::vector<Window> steps_;
  TimePoint end_;
  std::vector<SecondSummary> closed_;
  std::deque<std::unique_ptr<Window>> open_;  // Second number closed_.size() and on.
};

}  // namespace stout::load
