#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "shard/load/load_settings.h"
#include "shard/load/tally.h"
#include "shard/oracle.h"
#include "stout/core/histogram.h"

namespace stout::bench::shard {

/// The result of a run.
struct LoadSummary {
  Tally total;
  double seconds = 0;         ///< time in which load was offered
  double answered_per_s = 0;  ///< in this time
  Histogram lateness;         ///< of the generator, from due to handed to a connection, ns
  std::string last_error;     ///< last error reply of the server; empty: none
  std::string lost;           ///< why the run ended early by itself; empty: it did not
  bool interrupted = false;
};

/// Offers the load, and writes a line to `csv` for each slice of it. The last slice ends when all
/// requests are answered, or when patience ends. The first SIGINT or SIGTERM ends the load, and
/// requests under way are abandoned. The second ends the program.
///
/// A failure to begin, such as a server that is away or has other data, is also in `lost`.
///
/// Threads: the caller's, until the end. It handles these two signals meanwhile.
[[nodiscard]] LoadSummary RunLoad(const LoadSettings& settings, const Oracle& oracle,
                                  std::ostream& csv);

/// For people, a line or two.
[[nodiscard]] std::string ToText(const LoadSummary& summary);
/// README.md explains the members.
[[nodiscard]] std::string ToJson(const LoadSummary& summary);

}  // namespace stout::bench::shard
