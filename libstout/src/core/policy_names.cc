#include <array>
#include <cstddef>

#include "stout/core/policy.h"

namespace stout::inline v1 {

std::string_view NameOf(Regime regime) {
  static constexpr std::array<std::string_view, kRegimes> kNames = {
      "none", "starting", "natural", "paced", "pipelined", "shared_sync"};
  return kNames[static_cast<std::size_t>(regime)];
}

std::string_view NameOf(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kNames = {
      "none",         "unknown_costs",   "polite_start",  "failure",        "queue",
      "no_queue",     "alone",           "single_change", "parallel_store", "cheap_batch",
      "costly_items", "long_round_trip", "others_sync"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace stout::inline v1
