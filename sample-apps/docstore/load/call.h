#pragma once

#include <cstdint>

#include "load/workload.h"
#include "stout/core/types.h"

namespace stout::load {

/// One request, from the moment it is due until its end is known.
struct Call {
  enum class Purpose : std::uint8_t {
    kMeasured,  ///< Part of the run.
    kPreload,   ///< Fills the store before it; repeated while that may help.
    kReadBack,  ///< Compares the store after it; repeated within --verify-timeout.
    kCounters,  ///< Samples /metrics.
  };

  Purpose purpose = Purpose::kMeasured;
  Op op = Op::kRead;
  SectionId section = 0;
  TimePoint due{};
  // From here on set when it is sent.
  TimePoint sent{};
  std::uint64_t sequence = 0;  ///< a write's number in its body
  Stamp known{};               ///< The newest version known of the section.
};

}  // namespace stout::load
