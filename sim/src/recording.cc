#include "stout/sim/recording.h"

#include <algorithm>
#include <chrono>

namespace stout::sim {

Duration Recording::Length() const {
  const Duration first = changes.front().at;
  const Duration last = changes.back().at;
  const Duration gap = last > first
                           ? (last - first) / static_cast<Duration::rep>(changes.size() - 1)
                           : Duration(std::chrono::seconds(1));
  return std::max<Duration>(std::chrono::microseconds(1), last + gap);
}

}  // namespace stout::sim
