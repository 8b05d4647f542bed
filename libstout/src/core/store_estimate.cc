#include "stout/core/policy/store_estimate.h"

#include <algorithm>
#include <cmath>

#include "core/ramp.h"
#include "core/seconds.h"

namespace stout::inline v1 {
namespace {

using internal::Ramp;
using internal::Seconds;

constexpr Ramp kTogether = {0.3, 0.5};  // share of the pairs
constexpr double kAtOnce = 0.1;         // of a service: answers this close came together
constexpr double kSameSync = 0.05;      // of the idle latency: answers this close had one sync
// Weight of a pair that was answered together. It is stronger evidence than other pairs, because a
// store that serves in turn never does it.
constexpr double kTogetherWeight = 0.5;
// Distance between the least idle latency and the mean, in mean deviations. Measured: 1.5 takes
// noise for a queue, 3.5 takes a queue for noise.
constexpr double kScatter = 2.3;

}  // namespace

std::optional<StoreEstimate::Pair> StoreEstimate::LearnPair(const BatchSample& part) {
  if (half_.sent != part.sent) {
    half_ = {.sent = part.sent, .done = part.done};
    return std::nullopt;
  }
  half_.sent = TimePoint::min();
  const bool in_order = part.part == BatchPart::kRest;
  const double apart = Seconds(part.done - half_.done) * (in_order ? 1 : -1);
  const auto items = static_cast<double>(part.items);
  cost_.Learn(items, apart, IdleLatency(1));
  const double together = apart <= kAtOnce * cost_.Of(items) ? 1 : 0;
  together_ += std::max(together > 0 ? kTogetherWeight : 0.125, 1 / cost_.samples()) *
               (together - together_);
  const double same = together > 0 && std::abs(apart) <= kSameSync * IdleLatency(1) ? 1 : 0;
  same_sync_ += std::max(0.25, 1 / cost_.samples()) * (same - same_sync_);
  if (cost_.samples() > 2) {  // a line fits two points always
    const double off = std::abs(apart - cost_.Of(items)) / IdleLatency(items);
    scatter_ += std::max(0.02, 1 / (cost_.samples() - 1)) * (std::min(1.0, off) - scatter_);
  }
  return Pair{.items = items, .apart = apart};
}

double StoreEstimate::IdleLatency(double items) const {
  return LeastLatency(items) + kScatter * scatter_ * base_.of_one();
}

double StoreEstimate::Together() const { return kTogether(together_); }

bool StoreEstimate::SharesSyncs() const { return kTogether(same_sync_) >= 1; }

}  // namespace stout::inline v1
