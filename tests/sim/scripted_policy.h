#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "stout/core/policy.h"
#include "stout/core/policy/basic.h"

namespace stout::sim {

/// Goes through its decisions, one for each sample, and begins again: no law, but every use of
/// Decision that a law could make.
struct Scripted {
  std::vector<Decision> decisions;  // at least one
  std::size_t at = 0;

  [[nodiscard]] Decision Start() const { return decisions[0]; }
  Decision Observe(const BatchSample&) {
    at = (at + 1) % decisions.size();
    return decisions[at];
  }
  [[nodiscard]] std::string Name() const {
    std::string name;
    for (const Decision& decision : decisions) {
      name += fmt::format("[interval {} gap {} tick {} window {} items {} probe {} full {}]",
                          FormatDuration(decision.interval), FormatDuration(decision.gap),
                          FormatDuration(decision.tick), decision.window, decision.max_items,
                          decision.probe, decision.full_window);
    }
    return name;
  }
};

}  // namespace stout::sim
