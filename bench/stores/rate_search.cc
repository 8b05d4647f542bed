#include "stores/rate_search.h"

#include <cmath>
#include <utility>

namespace stout::bench {

std::optional<double> RateSearch::Next() const {
  if (next_ < options_.lowest || next_ > options_.highest) return std::nullopt;
  if (!coarse() && high_ <= low_ * (1 + options_.resolution)) return std::nullopt;
  return next_;
}

void RateSearch::Learn(bool sustained) {
  if (!sustained && !std::exchange(failed_once_, true)) return;
  failed_once_ = false;
  (sustained ? low_ : high_) = next_;
  if (high_ == 0) {
    next_ = low_ * options_.step;
  } else if (low_ == 0) {
    next_ = high_ / options_.step;
  } else {
    next_ = std::sqrt(low_ * high_);
  }
}

}  // namespace stout::bench
