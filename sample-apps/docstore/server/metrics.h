#pragma once

#include <string>
#include <vector>

#include "http/http_metrics.h"
#include "monitor/engine_metrics.h"
#include "monitor/tenant_metrics.h"

namespace stout::docstore {

using monitor::ShardSnapshot;

/// All figures in the Prometheus text format; names and units in the README.
[[nodiscard]] std::string ToPrometheus(const std::vector<ShardSnapshot>& shards,
                                       const std::vector<monitor::TenantSnapshot>& tenants,
                                       const http::HttpSnapshot& http);

/// The same figures as JSON: {"total": {...}, "shards": [{"lanes": [...]}], "http": {...}}, with
/// the same names; histograms as count, mean, quantiles and maximum. "tenants": [...] if there are
/// any.
[[nodiscard]] std::string ToJson(const std::vector<ShardSnapshot>& shards,
                                 const std::vector<monitor::TenantSnapshot>& tenants,
                                 const http::HttpSnapshot& http);

}  // namespace stout::docstore
