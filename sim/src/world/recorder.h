#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/policy.h"
#include "stout/core/types.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"
#include "world/latency_histogram.h"

namespace stout::sim::internal {

/// The results of one client in the measured time.
struct ClientTally {
  std::uint64_t offered = 0;
  std::uint64_t completed = 0;
  double latency_ns = 0;  // sum over the completed
  std::uint64_t batches = 0;
  Duration present{};  // how long it was there
};

/// Counts the events of a run, slice by slice and over the measured time.
///
/// Events are reported in order of time, except those that clients take in later: changes that are
/// offered or refused, and reads that were replied to at once.
class Recorder {
 public:
  explicit Recorder(const Scenario& scenario);

  // --- What happens --------------------------------------------------------------------------

  /// A client makes a change at `at`, which may be long ago.
  void Offered(TimePoint at) {
    ++pending_;
    if (at >= warmup_) ++offered_;
    ++SliceAt(at).offered;
  }
  /// A change that is `latency` old is durable, and so is its reply sent.
  void Written(Duration latency, TimePoint now) {
    MoveTo(now);
    --pending_;
    slice_writes_.Record(latency);
    if (measuring_) writes_.Record(latency);
  }
  void ReadReplied(Duration latency, TimePoint now) {
    if (Measures(now)) reads_.Record(latency);
  }
  void Refused(TimePoint at) {
    --pending_;
    refused_ += static_cast<std::uint64_t>(Measures(at));
  }
  void Expired(TimePoint at) {
    --pending_;
    expired_ += static_cast<std::uint64_t>(Measures(at));
  }

  /// A batch leaves a client, `spacing` after its previous one; zero if there was none or this is
  /// the second half of one send. `decision` is the newest of the lane's policy.
  void Sent(std::size_t items, Duration spacing, const Decision& decision, TimePoint now);
  /// The answer to a batch comes in: `failed` items must be sent again, `drops` queues were full.
  void Answered(std::size_t items, std::size_t failed, std::size_t drops, Duration latency,
                TimePoint now);

  // --- What is known -------------------------------------------------------------------------

  [[nodiscard]] bool Measures(TimePoint at) const { return at >= warmup_; }
  [[nodiscard]] std::uint64_t pending() const { return pending_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

  /// The result of a run that has ended at `end`; `gave_up` if before its time.
  [[nodiscard]] Result Finish(TimePoint end, bool gave_up,
                              const std::vector<ClientTally>& present_clients);

 private:
  struct SliceTally {
    std::uint64_t offered = 0, completed = 0, batches = 0, items = 0, spacings = 0;
    double latency_ns = 0, p99_ns = 0, spacing_ns = 0;
    Regime regime = Regime::kNone;
    Reason reason = Reason::kNone;
  };
  using Reasons = std::array<std::uint64_t, kReasons>;
  struct Half {
    std::uint64_t count = 0;
    double sum = 0;
  };

  void MoveTo(TimePoint now) {
    if (now >= boundary_) Cross(now);
  }
  void Cross(TimePoint now);
  void EndSlice();
  SliceTally& SliceAt(TimePoint at) {
    if (at >= slice_begin_ && at < slice_begin_ + slice_length_) return slices_[slice_];
    return slices_[static_cast<std::size_t>(at.time_since_epoch() / slice_length_)];
  }

  [[nodiscard]] bool IsStable(bool gave_up) const;
  [[nodiscard]] std::vector<Slice> Timeline(TimePoint end) const;

  const TimePoint warmup_;
  const TimePoint middle_;  // of the measured time
  const TimePoint end_;
  const Duration slice_length_;
  const bool closed_loop_;

  TimePoint boundary_;  // the next at which something of what follows changes
  bool measuring_;
  std::vector<SliceTally> slices_;
  std::size_t slice_ = 0;
  TimePoint slice_begin_{};
  LatencyHistogram slice_writes_;
  std::array<Reasons, kRegimes> slice_regimes_{};  // batches, by regime and reason

  LatencyHistogram writes_;
  LatencyHistogram reads_;
  Half first_half_;
  bool past_middle_ = false;
  std::uint64_t pending_ = 0;
  std::uint64_t batches_ = 0;  // of the whole run
  std::uint64_t offered_ = 0, refused_ = 0, expired_ = 0, retries_ = 0, drops_ = 0;
  std::uint64_t sent_batches_ = 0, sent_items_ = 0, spacings_ = 0, answers_ = 0, written_items_ = 0;
  double spacing_ns_ = 0, store_latency_ns_ = 0;
};

}  // namespace stout::sim::internal
