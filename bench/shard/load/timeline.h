#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "shard/load/shard_figures.h"
#include "shard/load/tally.h"
#include "stout/core/types.h"

namespace stout::bench::shard {

/// A slice of a run, and what the server told at its end.
struct TimelineRow {
  Duration begin{};  ///< Since the start of the load.
  Duration end{};
  const Tally& tally;
  std::uint64_t under_way = 0;  ///< At its end: what the client waits for, wherever it is.
  std::span<const ShardFigures> shards;
};

/// Returns the names of the columns, for this number of shards; README.md has their meaning.
[[nodiscard]] std::string TimelineHeader(std::size_t shards);

/// One line of CSV. A field is empty where there is nothing to tell: latencies where nothing was
/// answered; figures of shards, if the server told of another number of them.
[[nodiscard]] std::string FormatRow(const TimelineRow& row, std::size_t shards);

}  // namespace stout::bench::shard
