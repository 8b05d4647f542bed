#pragma once

#include <istream>

#include "stout/sim/json_text.h"
#include "stout/sim/recording.h"

namespace stout::sim {

/// Reads a recording: CSV with the header `time,key,bytes`, as docs/SIMULATION.md describes it,
/// plain or packed by gzip or zstd.
///
/// Errors name the line and the remedy.   Cost: 16 bytes of memory for each change. A second for
/// some 5 million changes.   Requires a stream of bytes (std::ios::binary).
[[nodiscard]] Parsed<Recording> ReadRecording(std::istream& in);

}  // namespace stout::sim
