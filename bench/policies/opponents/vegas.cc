#include "policies/opponents/vegas.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "stout/core/random.h"

namespace stout::bench {

Decision Vegas::Observe(const BatchSample& sample) {
  const auto latency = static_cast<double>(sample.latency().count());
  if (latency > 0) Update(sample, latency);
  return Start();
}

void Vegas::Update(const BatchSample& sample, double latency) {
  if (++samples_since_probe >= probe_share * kProbeEvery * limit) {
    SplitMix64 random(static_cast<std::uint64_t>(sample.done.time_since_epoch().count()));
    probe_share = 0.5 + 0.5 * random.Unit();
    samples_since_probe = 0;
    no_load = latency;
    return;
  }
  if (no_load == 0 || latency < no_load) {
    no_load = latency;
    return;
  }
  const double step = std::max(1.0, std::floor(std::log10(std::floor(limit))));
  const double queue = std::ceil(limit * (1 - no_load / latency));
  if (sample.errc != Errc::kOk) {
    limit -= step;
  } else if (2 * static_cast<double>(sample.in_flight) < limit) {
    return;
  } else if (queue <= step) {
    limit += 6 * step;
  } else if (queue < 3 * step) {
    limit += step;
  } else if (queue > 6 * step) {
    limit -= step;
  }
  limit = std::clamp(limit, 1.0, kMax);
}

}  // namespace stout::bench
