#pragma once

#include "stout/core/types.h"

namespace stout::bench {

/// From this time after the start of the load on, there are `factor` times as many changes.
struct RateStep {
  Duration at{};
  double factor = 1;
};

}  // namespace stout::bench
