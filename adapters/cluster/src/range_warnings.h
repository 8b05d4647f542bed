#pragma once

#include <spdlog/spdlog.h>

#include <functional>
#include <string>

#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/replicated_map.h"

namespace stout {

// Handlers of a ReplicatedRange that write to the log.

inline ReplicatedRange::UnfillableHandler WarnUnfillable(RangeId range) {
  return [range](const std::string& datalet, KeyView key, Errc errc) {
    if (key.empty()) {
      spdlog::error("range {}: {} cannot be read: {}", range, datalet, Describe(errc));
    } else {
      spdlog::warn("range {}: {} cannot be filled or compared because of the key '{}': {}", range,
                   datalet, key, Describe(errc));
    }
  };
}

inline std::function<void(const std::string&)> WarnReverted(RangeId range) {
  return [range](const std::string& datalet) {
    spdlog::error(
        "range {}: all datalets that were in were restarted and may have lost acknowledged writes; "
        "it goes on with what {} has",
        range, datalet);
  };
}

}  // namespace stout
