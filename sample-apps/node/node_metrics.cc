#include "node/node_metrics.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <string_view>
#include <utility>

namespace stout::node {
namespace {

namespace json = boost::json;
using http::Get;
using http::kCounter;
using http::kGauge;
using http::Scalar;

constexpr const char* kPrefix = "stout_node_";
constexpr const char* kHttpPrefix = "stout_node_http_";

constexpr Scalar<NodeSnapshot> kScalars[] = {
    {"stout_node_healthy", kGauge, "1 if /healthz answers 200", Get<&NodeSnapshot::healthy>},
    {"stout_node_store_unanswered_seconds", kGauge,
     "Time for which the store has been called without a success",
     [](const NodeSnapshot& node) {
       return static_cast<double>(node.store_unanswered.count()) / http::kNanosPerSecond;
     }},
    {"stout_node_cache_limit_bytes", kGauge,
     "Limit of stout_cached_bytes and stout_lent_bytes together, of each table",
     Get<&NodeSnapshot::cache_limit_bytes>},
    {"stout_node_resident_bytes", kGauge, "Memory of the process",
     [](const NodeSnapshot& node) { return static_cast<double>(node.usage.resident_bytes); }},
    {"stout_node_cpu_seconds_total", kCounter, "CPU time of the process",
     [](const NodeSnapshot& node) { return node.usage.user_seconds + node.usage.system_seconds; }},
};

// These are shown once the node has counted its keys.
constexpr Scalar<NodeSnapshot> kKeyScalars[] = {
    {"stout_node_keys", kGauge, "Keys when all were last counted, by DBSIZE or FLUSHALL",
     Get<&NodeSnapshot::keys>},
    {"stout_node_keys_counted_timestamp_seconds", kGauge, "Unix time of that count",
     Get<&NodeSnapshot::keys_counted_at>},
};

constexpr Scalar<MemberSnapshot> kMemberScalars[] = {
    {"stout_node_member_in", kGauge, "1 if the member has every acknowledged write of its range",
     Get<&MemberSnapshot::in>},
    {"stout_node_member_filling", kGauge, "1 while older states are copied to the member",
     Get<&MemberSnapshot::filling>},
    {"stout_node_member_lazy", kGauge,
     "1 if the member gets every change and no answer waits for it", Get<&MemberSnapshot::lazy>},
    {"stout_node_member_copied_states_total", kCounter, "States that were copied to the member",
     Get<&MemberSnapshot::copied>},
    {"stout_node_member_lag_keys", kGauge, "Keys whose newest states the member does not have yet",
     Get<&MemberSnapshot::lag_keys>},
    {"stout_node_member_lag_seconds", kGauge,
     "Age of the oldest change that the member does not have yet",
     [](const MemberSnapshot& member) {
       return static_cast<double>(member.lag.count()) / http::kNanosPerSecond;
     }},
};

void AppendMembers(std::vector<http::MetricFamily>& families,
                   const std::vector<MemberSnapshot>& members) {
  if (members.empty()) return;
  for (const auto& [name, type, help, get] : kMemberScalars) {
    http::MetricFamily family = http::Family(name, help, type);
    for (const MemberSnapshot& member : members) {
      http::Labels labels{{"range", std::to_string(member.range)}, {"member", member.datalet}};
      if (!member.table.empty()) labels.push_back({"table", member.table});
      family.metric.push_back(http::ToMetric(get(member), type, std::move(labels)));
    }
    families.push_back(std::move(family));
  }
}

json::object ToObject(const MemberSnapshot& member) {
  json::object one = http::ToObject(kMemberScalars, member);
  one["range"] = member.range;
  one["member"] = member.datalet;
  if (!member.table.empty()) one["table"] = member.table;
  return one;
}

// The members of a range of another node, as the coordinator knows them. Only the owner knows more.
json::array RowsOf(const RangesSnapshot& ranges, RangeId range) {
  json::array rows;
  const auto add = [&](const std::string& datalet, bool in, bool lazy) {
    json::object row = ToObject(MemberSnapshot{
        .table = ranges.table, .range = range, .datalet = datalet, .in = in, .lazy = lazy});
    row["stout_node_member_copied_states_total"] = nullptr;
    row["stout_node_member_lag_keys"] = nullptr;
    row["stout_node_member_lag_seconds"] = nullptr;
    rows.push_back(std::move(row));
  };
  if (const RangeRecord* const record = ranges.RecordOf(range)) {
    for (const RangeRecord::Member& member : record->members) add(member.datalet, member.in, false);
    for (const auto& [id, datalet] : ranges.records->datalets) {
      if (datalet.value.lazy && !IsIn(*record, id)) add(id, false, true);
    }
  }
  if (!rows.empty()) return rows;
  json::object row{{"range", range}};
  if (!ranges.table.empty()) row["table"] = ranges.table;
  rows.push_back(std::move(row));
  return rows;
}

}  // namespace

json::array ToArray(const std::vector<MemberSnapshot>& members) {
  json::array all;
  for (const MemberSnapshot& member : members) all.push_back(ToObject(member));
  return all;
}

json::array PageRows(const NodeSnapshot& node) {
  constexpr std::size_t kMaxRows = 1000;  // the page gets them each second
  std::map<std::pair<std::string_view, RangeId>, json::array> served;
  for (const MemberSnapshot& member : node.members)
    served[{member.table, member.range}].push_back(ToObject(member));
  json::array all;
  for (const RangesSnapshot& ranges : node.ranges) {
    for (RangeId range = 0; range < ranges.leases->ranges.size(); ++range) {
      json::array rows = std::move(served[{ranges.table, range}]);
      if (rows.empty()) rows = RowsOf(ranges, range);
      const std::string* const owner = ranges.OwnerOf(range);
      for (json::value& row : rows) {
        if (all.size() == kMaxRows) return all;
        row.as_object()["owner"] = owner != nullptr ? json::value(*owner) : json::value(nullptr);
        all.push_back(std::move(row));
      }
    }
  }
  return all;
}

std::string ToPrometheus(const NodeSnapshot& node, const http::HttpSnapshot& http) {
  std::vector<http::MetricFamily> families;
  monitor::AppendEngines(families, node.shards);
  AppendRanges(families, node.ranges);
  AppendMembers(families, node.members);
  monitor::AppendTenants(families, node.tenants, kPrefix);
  http::AppendScalars(families, kScalars, node);
  if (node.keys >= 0) http::AppendScalars(families, kKeyScalars, node);
  resp::AppendService(families, node.service, kPrefix);
  http::AppendHttp(families, http, kHttpPrefix);
  return http::ToText(families);
}

std::string ToJson(const NodeSnapshot& node, const http::HttpSnapshot& http) {
  json::object all = monitor::ToObject(node.shards);
  json::object scalars = http::ToObject(kScalars, node);
  if (node.keys >= 0) {
    for (const auto& member : http::ToObject(kKeyScalars, node))
      scalars[member.key()] = member.value();
  }
  if (!node.ranges.empty()) all["ranges"] = ToArray(node.ranges);
  if (!node.members.empty()) all["members"] = ToArray(node.members);
  if (!node.tenants.empty()) all["tenants"] = monitor::ToArray(node.tenants, kPrefix);
  all["node"] = std::move(scalars);
  all["service"] = resp::ToObject(node.service, kPrefix);
  all["http"] = http::ToObject(http, kHttpPrefix);
  return json::serialize(all) + '\n';
}

}  // namespace stout::node
