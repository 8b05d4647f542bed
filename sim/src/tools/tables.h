#pragma once

#include <string>

#include "stout/sim/oracle.h"
#include "stout/sim/result.h"
#include "stout/sim/scenario.h"
#include "stout/sim/sweep.h"

namespace stout::sim::internal {

// Tables that commands print for people.

/// With the timeline if the scenario has steps.
[[nodiscard]] std::string ResultTable(const Result& result, const Scenario& scenario);
[[nodiscard]] std::string OracleTable(const Best& interval, const Best& gap);
[[nodiscard]] std::string SweepTable(const Sweep& sweep);

}  // namespace stout::sim::internal
