#include "stores/rate_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stout::bench {

std::optional<double> RateSearch::Next() const {
  const bool carries_all = low_ >= options_.highest;
  const bool carries_none = high_ > 0 && high_ <= options_.lowest;
  const bool found = !coarse() && high_ <= low_ * (1 + options_.resolution);
  if (carries_all || carries_none || found) return std::nullopt;
  return next_;
}

void RateSearch::Learn(bool sustained) {
  if (!sustained && !std::exchange(failed_once_, true)) return;
  failed_once_ = false;
  (sustained ? low_ : high_) = next_;
  if (high_ == 0) {
    next_ = std::min(low_ * options_.step, options_.highest);
  } else if (low_ == 0) {
    next_ = std::max(high_ / options_.step, options_.lowest);
  } else {
    next_ = std::sqrt(low_ * high_);
  }
}

}  // namespace stout::bench
