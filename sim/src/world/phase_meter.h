#pragma once

#include <algorithm>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/deployment.h"
#include "world/units.h"

namespace stout::sim::internal {

/// Measures one phase of a deployment.
class PhaseMeter {
 public:
  /// `backlog`: work that the coordinator has left from before.
  PhaseMeter(TimePoint now, Duration backlog) : begin_(now), work_(backlog) {}

  void CountCall() { ++phase_.calls; }
  void CountRenewal() { ++phase_.renewals; }
  void CountEvents(std::uint64_t events) { phase_.events += events; }
  /// The coordinator has got work.
  void AddWork(Duration work) { work_ += work; }
  /// A call waits for this time before the coordinator turns to it.
  void AddWait(Duration wait) { longest_wait_ = std::max(longest_wait_, wait); }
  /// A range has got an owner, and had none for this time.
  void AddMove(Duration unserved) { unserved_.push_back(unserved); }

  /// `backlog`: work that is left for later phases.
  [[nodiscard]] DeploymentPhase End(TimePoint now, Duration backlog, bool ended) {
    phase_.ended = ended;
    phase_.seconds = ToSeconds(now - begin_);
    if (now > begin_) phase_.busy_share = ToSeconds(work_ - backlog) / phase_.seconds;
    phase_.longest_wait_ms = ToSeconds(longest_wait_) * 1e3;
    phase_.moves = unserved_.size();
    std::sort(unserved_.begin(), unserved_.end());
    if (!unserved_.empty()) {
      phase_.unserved_p50_ms = ToSeconds(unserved_[unserved_.size() / 2]) * 1e3;
      phase_.unserved_max_ms = ToSeconds(unserved_.back()) * 1e3;
    }
    return phase_;
  }

 private:
  TimePoint begin_;
  Duration work_;
  Duration longest_wait_{};
  std::vector<Duration> unserved_;
  DeploymentPhase phase_;
};

}  // namespace stout::sim::internal
