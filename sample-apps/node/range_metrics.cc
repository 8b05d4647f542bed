#include "node/range_metrics.h"

#include <boost/json/object.hpp>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace stout::node {
namespace {

namespace json = boost::json;
using http::kCounter;
using http::kGauge;

// A number for each value of a label, or one number without a label.
struct Metric {
  const char* name;
  http::MetricType type;
  const char* help;
  const char* label;  // null: none
  std::vector<std::pair<std::string_view, double>> values;
};

constexpr ReplicationMode kModes[] = {ReplicationMode::kMsSc, ReplicationMode::kMsEc,
                                      ReplicationMode::kAaEc};

std::vector<Metric> MetricsOf(const RangesSnapshot& ranges) {
  double own = 0, foreign = 0, none = 0, unswept = 0;
  double in_mode[std::size(kModes)] = {};
  for (RangeId range = 0; range < ranges.leases->ranges.size(); ++range) {
    const std::optional<Lease>& lease = ranges.leases->ranges[range];
    const bool is_own = lease && lease->address == ranges.self;
    (!lease ? none : is_own ? own : foreign) += 1;
    const RangeRecord* const record = ranges.RecordOf(range);
    if (record == nullptr) continue;
    in_mode[static_cast<std::size_t>(ModeOf(*record))] += 1;
    // As ReplicaSet::swept. Shared ranges are merged instead.
    if (is_own && record->shared == 0 && record->swept + 1 < lease->epoch) unswept += 1;
  }
  std::vector<Metric> metrics = {
      {"stout_node_ranges",
       kGauge,
       "Ranges by owner: this node, another one, or none",
       "owner",
       {{"self", own}, {"other", foreign}, {"none", none}}},
      {"stout_node_ranges_taken_total",
       kCounter,
       "Times that this node began to own a range",
       nullptr,
       {{"", static_cast<double>(ranges.taken)}}},
      {"stout_node_forwarded_total",
       kCounter,
       "Commands that this node sent to the keys' owners",
       nullptr,
       {{"", static_cast<double>(ranges.forwarded)}}},
  };
  if (ranges.records == nullptr) return metrics;
  Metric modes{
      "stout_node_ranges_in_mode", kGauge, "Ranges by the mode that is in force", "mode", {}};
  for (const ReplicationMode mode : kModes)
    modes.values.emplace_back(NameOf(mode), in_mode[static_cast<std::size_t>(mode)]);
  metrics.push_back(std::move(modes));
  metrics.push_back({"stout_node_ranges_unswept",
                     kGauge,
                     "Ranges of this node that it has not swept since it took them over",
                     nullptr,
                     {{"", unswept}}});
  return metrics;
}

}  // namespace

const std::string* RangesSnapshot::OwnerOf(RangeId range) const {
  const std::optional<Lease>& lease = leases->ranges[range];
  return lease ? &lease->address : nullptr;
}

const RangeRecord* RangesSnapshot::RecordOf(RangeId range) const {
  if (records == nullptr) return nullptr;
  const auto record = records->sets.find(range);
  return record != records->sets.end() ? &record->second.value : nullptr;
}

void AppendRanges(std::vector<http::MetricFamily>& families,
                  const std::vector<RangesSnapshot>& tables) {
  std::vector<http::MetricFamily> added;
  for (const RangesSnapshot& ranges : tables) {
    const std::vector<Metric> metrics = MetricsOf(ranges);  // the same ones for each table
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const Metric& metric = metrics[i];
      if (i == added.size()) added.push_back(http::Family(metric.name, metric.help, metric.type));
      for (const auto& [name, value] : metric.values) {
        http::Labels labels;
        if (metric.label != nullptr) labels.push_back({metric.label, std::string(name)});
        if (!ranges.table.empty()) labels.push_back({"table", ranges.table});
        added[i].metric.push_back(http::ToMetric(value, metric.type, std::move(labels)));
      }
    }
  }
  families.insert(families.end(), added.begin(), added.end());
}

json::array ToArray(const std::vector<RangesSnapshot>& tables) {
  json::array all;
  for (const RangesSnapshot& ranges : tables) {
    json::object one;
    for (const Metric& metric : MetricsOf(ranges)) {
      if (metric.label == nullptr) {
        one[metric.name] = http::Number(metric.values.front().second);
        continue;
      }
      json::object values;
      for (const auto& [name, value] : metric.values) values[name] = http::Number(value);
      one[metric.name] = std::move(values);
    }
    if (!ranges.table.empty()) one["table"] = ranges.table;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace stout::node
