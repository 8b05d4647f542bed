#include "stout/core/policy/polite_start.h"

#include <algorithm>
#include <cmath>

namespace stout::inline v1 {
namespace {

constexpr double kSteady = 0.3;    // two latencies agree if they differ by less than this share
constexpr double kDraining = 0.7;  // of the least latency: the queue still drains

}  // namespace

void PoliteStart::Begin(double latency, std::size_t answers) {
  answers_ = left_ = answers;
  least_ = latency;
}

bool PoliteStart::Observe(double latency, bool small) {
  if (!small) return ++whole_ > 3 * answers_;
  if (latency < kDraining * least_) left_ = std::max(left_, answers_ / 2);
  least_ = std::min(least_, latency);
  const bool steady = std::abs(latency - last_) < kSteady * last_;
  last_ = latency;
  return --left_ == 0 || steady;
}

}  // namespace stout::inline v1
