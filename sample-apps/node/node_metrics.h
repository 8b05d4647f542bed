#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "http/http_metrics.h"
#include "monitor/engine_metrics.h"
#include "resp/server/process_usage.h"
#include "resp/server/service_metrics.h"
#include "stout/core/types.h"

namespace stout::node {

/// The state of a node at one moment; docs/NODE.md has the names of its metrics.
struct NodeSnapshot {
  std::vector<monitor::ShardSnapshot> shards;  ///< empty unless the node serves
  resp::ServiceSnapshot service;
  bool healthy = false;
  Duration store_unanswered{};  ///< how long the store has been called without a success
  std::size_t cache_limit_bytes = 0;
  resp::ProcessUsage usage;
  std::int64_t keys = -1;      ///< at `keys_counted_at`; negative: not counted yet
  double keys_counted_at = 0;  ///< Unix time in seconds
};

[[nodiscard]] std::string ToPrometheus(const NodeSnapshot& node, const http::HttpSnapshot& http);

/// The same metrics: {"total": {...}, "shards": [...], "node": {...}, "service": {...}, "http":
/// {...}}.
[[nodiscard]] std::string ToJson(const NodeSnapshot& node, const http::HttpSnapshot& http);

}  // namespace stout::node
