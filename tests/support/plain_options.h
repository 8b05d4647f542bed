#pragma once

#include "stout/core/options.h"
#include "stout/core/policy/basic.h"

namespace stout {

/// Natural batching, for tests that count batches. A change of the default does not matter to them.
inline EngineOptions Plain() {
  EngineOptions options;
  options.lane.write_policy = Natural{};
  return options;
}

}  // namespace stout
