#pragma once

#include <cstdint>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "stout/sim/scenario.h"

namespace stout::sim::internal {

/// The ways from the clients to the store: half a round trip, and jitter.
///
/// The jitter of a batch is exponential. If batches stay in order, as on one connection, a batch
/// also waits for those that its client sent before. Batches that a client sends in one instant
/// then share a segment, and so its delay.
class Links {
 public:
  Links(const StoreSpec& spec, Random random);

  /// When does a batch that this client sends now reach the store?
  TimePoint Arrival(std::uint32_t client, TimePoint now);

 private:
  struct Last {
    TimePoint sent = kNever;
    TimePoint arrival{};
  };

  Duration half_rtt_;
  double jitter_ns_;
  bool reorders_;
  Random random_;
  std::vector<Last> last_;  // by client
};

}  // namespace stout::sim::internal
