#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "http/http_metrics.h"
#include "monitor/engine_metrics.h"
#include "monitor/tenant_metrics.h"
#include "node/range_metrics.h"
#include "resp/server/process_usage.h"
#include "resp/server/service_metrics.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"

namespace stout::node {

/// A member of a range that the node owns.
struct MemberSnapshot {
  std::string table{};  ///< empty: the default table
  RangeId range = 0;
  std::string datalet;
  bool in = false;
  bool filling = false;
  bool lazy = false;
  std::uint64_t copied = 0;    ///< states that fills have copied to it
  std::uint64_t lag_keys = 0;  ///< keys whose newest states it does not have yet
  Duration lag{};              ///< age of the oldest change of these
};

/// The state of a node at one moment; docs/NODE.md has the names of its metrics.
struct NodeSnapshot {
  std::vector<monitor::ShardSnapshot> shards;    ///< empty unless the node serves
  std::vector<RangesSnapshot> ranges;            ///< of each table; empty if the node is alone
  std::vector<MemberSnapshot> members;           ///< empty if the nodes share one store
  std::vector<monitor::TenantSnapshot> tenants;  ///< empty unless a tenant has made a request
  resp::ServiceSnapshot service;
  bool healthy = false;
  Duration store_unanswered{};  ///< how long all stores have been called without a success
  std::size_t cache_limit_bytes = 0;
  resp::ProcessUsage usage;
  std::int64_t keys = -1;      ///< at `keys_counted_at`; negative: not counted yet
  double keys_counted_at = 0;  ///< Unix time in seconds
};

[[nodiscard]] boost::json::array ToArray(const std::vector<MemberSnapshot>& members);
/// Returns the rows of the live page's table: each member of each range as in ToArray, with the
/// range's `owner`. If another node owns the range, what only that node knows is null. A range
/// without known members has a row without one. At most 1,000 rows.
[[nodiscard]] boost::json::array PageRows(const NodeSnapshot& node);
[[nodiscard]] std::string ToPrometheus(const NodeSnapshot& node, const http::HttpSnapshot& http);

/// The same metrics: {"total": {...}, "shards": [...], "ranges": [...], "members": [...],
/// "node": {...}, "service": {...}, "http": {...}}. "ranges" and "members" are absent if there are
/// none.
[[nodiscard]] std::string ToJson(const NodeSnapshot& node, const http::HttpSnapshot& http);

}  // namespace stout::node
