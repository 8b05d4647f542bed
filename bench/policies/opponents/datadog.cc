#include "policies/opponents/datadog.h"

#include <algorithm>
#include <cmath>

#include "policies/opponents/linger.h"

namespace stout::bench {

Decision Datadog::Start() const {
  return {.interval = Duration(std::llround(linger)), .window = kInFlight};
}

Decision Datadog::Observe(const BatchSample& sample) {
  if (sample.errc == Errc::kOk && sample.latency() > Duration::zero()) {
    if (base == 0) adjusted = sample.sent;
    RecordLatency(sample);
    if (sample.done - adjusted > kEvery) {
      Adjust();
      adjusted = sample.done;
    }
  }
  return Linger(Duration(std::llround(linger)), static_cast<std::size_t>(batch_bytes), kInFlight,
                sample);
}

void Datadog::RecordLatency(const BatchSample& sample) {
  const auto latency = static_cast<double>(sample.latency().count());
  rtt = rtt == 0 ? latency : kSmoothing * latency + (1 - kSmoothing) * rtt;
  if (base == 0 || latency < base) {
    base = latency;
    base_set = sample.done;
  }
  if (sample.done - base_set > kDecayAfter) {
    base *= kDecay;
    base_set = sample.done;
  }
}

void Datadog::Adjust() {
  const double score = std::max(0.0, (rtt - base) / base);
  const double factor = score < kLowScore ? 1 / kStep : score > kHighScore ? kStep : 1;
  linger = std::clamp(linger * factor, kMinLinger, kMaxLinger);
  batch_bytes = std::clamp(batch_bytes * factor, kMinBytes, kMaxBytes);
}

}  // namespace stout::bench
