#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "stout/sim/scenario.h"
#include "world/arrivals.h"

namespace stout::sim::internal {

/// The load of the clients: its total over time, and the shares of the clients.
///
/// Clients are known by their place: the first `clients()` places are taken. The ratio of the loads
/// of two places never changes. Loads fall geometrically from place 0, which has `spread` times the
/// load of the last place. With `heavy_share`, place 0 has this share of the load of all places.
class Load {
 public:
  /// `places`: as many as will ever be taken.
  Load(const ClientSpec& spec, std::uint32_t places, Random random);

  /// This number of places is taken from now on. Recorded arrivals are shared out anew.
  void SetClients(std::uint32_t count);
  [[nodiscard]] std::uint32_t clients() const { return clients_; }

  void SetTotalRate(double per_s) { total_rate_ = per_s; }
  /// Requests per second of all clients in the long run; 0 where that is not ours to say.
  [[nodiscard]] double total_rate() const { return HasRate() ? total_rate_ : 0; }

  /// A burst begins or ends, the first time either; answers for how long. Only where there are
  /// bursts.
  Duration TurnBurst();
  /// The same for a place that turns on and off by itself.
  Duration TurnPlace(std::uint32_t place);

  /// The present rate of a place. Only where there are rates.
  [[nodiscard]] double RateOf(std::uint32_t place) const;
  /// Poisson, in bursts or in turns: a client's rate may change at any time.
  [[nodiscard]] bool HasRate() const;

  /// The arrivals of a place from then on. Recorded ones: once for each place after SetClients.
  [[nodiscard]] std::unique_ptr<Arrivals> ArrivalsOf(std::uint32_t place, TimePoint from,
                                                     Random random);

 private:
  void ShareRecording();

  const ClientSpec& spec_;
  std::vector<double> weights_;  // relative loads, by place
  Random random_;
  std::uint32_t clients_ = 0;
  double present_weight_ = 0;
  double total_rate_;
  bool in_burst_;
  std::vector<bool> on_;                            // by place; only where they turn on and off
  std::shared_ptr<const Recording> recording_;      // null unless arrivals are recorded
  std::vector<std::vector<std::uint32_t>> shares_;  // positions in the recording, by place
};

}  // namespace stout::sim::internal
