#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "http/figures.h"
#include "stout/core/admission.h"
#include "stout/core/stats.h"

namespace stout::monitor {

/// The statistics of one interposer, which is a shard of its program, or a member of a shard.
struct ShardSnapshot {
  std::size_t shard = 0;  ///< its number, or that of its leased range
  EngineStats engine;
  std::size_t cached_bytes = 0;
  std::size_t lent_bytes = 0;
  std::string member{};  ///< the name of its store; empty if the shard has one store only
  std::string table{};   ///< to which its keys belong; empty: the default table
  std::vector<TenantStats> tenants{};  ///< of the shard's cache
};

/// Appends all metrics of the shards; sample-apps/docstore/README.md has their names and units.
void AppendEngines(std::vector<http::MetricFamily>& families,
                   const std::vector<ShardSnapshot>& shards);

/// The same metrics as {"total": {...}, "shards": [{"lanes": [...]}]}, with the same names.
/// Histograms have count, mean, quantiles and maximum.
[[nodiscard]] boost::json::object ToObject(const std::vector<ShardSnapshot>& shards);

}  // namespace stout::monitor
