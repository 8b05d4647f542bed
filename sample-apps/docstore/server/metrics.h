#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "http/http_metrics.h"
#include "stout/core/stats.h"

namespace stout::docstore {

/// The statistics of one shard.
struct ShardSnapshot {
  std::size_t shard = 0;  ///< Its number; under leases that of its range.
  EngineStats engine;
  std::size_t cached_bytes = 0;
  std::size_t lent_bytes = 0;
};

/// All figures in the Prometheus text format; names and units in the README.
[[nodiscard]] std::string ToPrometheus(const std::vector<ShardSnapshot>& shards,
                                       const http::HttpSnapshot& http);

/// The same figures as JSON: {"total": {...}, "shards": [{"lanes": [...]}], "http": {...}}, with
/// the same names; histograms as count, mean, quantiles and maximum.
[[nodiscard]] std::string ToJson(const std::vector<ShardSnapshot>& shards,
                                 const http::HttpSnapshot& http);

}  // namespace stout::docstore
