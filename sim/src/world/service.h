#pragma once

#include <cstddef>
#include <cstdint>

#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "stout/sim/scenario.h"

namespace stout::sim::internal {

/// How long a server of the store takes, and how long all of them were at work.
///
/// One service costs per_batch + n * per_item, times a lognormal factor of mean 1, times another
/// that has mean 1 and is `slow_factor` times as large in the share `slow_share` of the services,
/// over the speed that the store has when it begins.
class Service {
 public:
  /// Work between `from` and `to` counts as busy.
  Service(const StoreSpec& spec, TimePoint from, TimePoint to, Random noise, Random slow);

  /// Nanoseconds of a server at speed 1, without noise.
  [[nodiscard]] double Cost(std::size_t items) const {
    return per_batch_ns_ + static_cast<double>(items) * per_item_ns_;
  }

  /// Begins a service of this cost, after a pause of the store if there is one. Returns its end.
  TimePoint Begin(double cost_ns, TimePoint now);
  /// Returns the end of work of this cost that occupies no server.
  TimePoint End(double cost_ns, TimePoint now);

  void SetSpeed(double speed) { speed_ = speed; }
  /// No service begins before; what is being served is the caller's to delay.
  void PauseUntil(TimePoint end) { paused_until_ = end; }

  [[nodiscard]] Duration busy() const { return busy_; }

 private:
  [[nodiscard]] double Noise();
  [[nodiscard]] double Tail();

  double per_batch_ns_;
  double per_item_ns_;
  double sigma_;
  double slow_share_;
  double slow_factor_;
  double speed_ = 1;
  TimePoint from_;
  TimePoint to_;
  TimePoint paused_until_{};
  Duration busy_{};
  Random noise_;
  Random slow_;
};

}  // namespace stout::sim::internal
