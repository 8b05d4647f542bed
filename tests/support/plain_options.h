#pragma once

#include "stout/core/options.h"
#include "stout/core/policy/basic.h"

namespace stout {

/// Natural batching, for tests that count batches: the default law also pauses and probes.
inline EngineOptions Plain() {
  EngineOptions options;
  options.lane.write_policy = Natural{};
  return options;
}

}  // namespace stout
