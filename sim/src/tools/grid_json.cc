#include <algorithm>
#include <utility>

#include "fields.h"
#include "stout/sim/regret.h"
#include "stout/sim/result_json.h"
#include "stout/sim/scenario_json.h"

namespace stout::sim {

namespace json = boost::json;
using internal::kAny;

// All fields except the scenario, which has its own reader.
template <typename Visitor, internal::SameAs<GridPoint> Point>
void Describe(Visitor& visit, Point& point) {
  visit("name", point.name, kAny, "");
  visit("store", point.store, kAny, "");
  visit("family", point.family, kAny, "");
  visit("variant", point.variant, kAny, "");
  visit("clients", point.clients, kAny, "");
  visit("load_percent", point.load_percent, kAny, "");
  visit("round_trip_ms", point.round_trip_ms, kAny, "");
  visit("round_trips", point.round_trips, kAny, "");
  visit("cut", point.cut, kAny, "");
  visit("seeds", point.seeds, kAny, "");
}

template <typename Visitor, internal::SameAs<RegretRow> Row>
void Describe(Visitor& visit, Row& row) {
  visit("group", row.group, kAny, "");
  visit("name", row.name, kAny, "");
  visit("points", row.points, kAny, "");
  visit("unstable", row.unstable, kAny, "");
  visit("geometric_mean", row.geometric_mean, kAny, "");
  visit("median", row.median, kAny, "");
  visit("p95", row.p95, kAny, "");
  visit("max", row.max, kAny, "");
  visit("share_within_25_percent", row.share_within_25_percent, kAny, "");
  visit("p99_ratio", row.p99_ratio, kAny, "");
  visit("geometric_mean_vs_natural", row.geometric_mean_vs_natural, kAny, "");
  visit("p95_vs_natural", row.p95_vs_natural, kAny, "");
  visit("worst_vs_natural", row.worst_vs_natural, kAny, "");
  visit("jain_points", row.jain_points, kAny, "stable points with equal clients");
  visit("share_jain_97_percent", row.share_jain_97_percent, kAny, "");
  visit("jain_throughput_min", row.jain_throughput_min, kAny, "");
  visit("jain_throughput_median", row.jain_throughput_median, kAny, "");
  visit("jain_latency_min", row.jain_latency_min, kAny, "");
  visit("jain_latency_median", row.jain_latency_median, kAny, "");
  visit("worst_point", row.worst_point, kAny, "");
}

namespace {

json::object WithoutTimeline(json::object result) {
  result.stable_erase(result.find("timeline"));
  return result;
}

json::object WritePoint(const PointResults& results) {
  json::object object = internal::WriteFields(results.point);
  object["scenario"] = ScenarioToJson(results.point.scenario);
  if (results.interval) {
    object["best_interval"] = WithoutTimeline(BestToJson(*results.interval));
  }
  json::object& policies = object["policies"].emplace_object();
  for (const auto& [name, result] : results.policies) {
    policies[name] = WithoutTimeline(ResultToJson(result));
  }
  return object;
}

/// Six digits are plenty, and come out the same from results that were in a file meanwhile.
RegretRow Rounded(RegretRow row) {
  for (double* const value :
       {&row.geometric_mean, &row.median, &row.p95, &row.max, &row.share_within_25_percent,
        &row.p99_ratio, &row.geometric_mean_vs_natural, &row.p95_vs_natural, &row.worst_vs_natural,
        &row.share_jain_97_percent, &row.jain_throughput_min, &row.jain_throughput_median,
        &row.jain_latency_min, &row.jain_latency_median}) {
    *value = internal::RoundedTo(6, *value);
  }
  return row;
}

/// The value, or the reader's error as an exception.
template <typename T>
T Take(Parsed<T> parsed) {
  if (!parsed) throw internal::FieldError(parsed.error().what);
  return *std::move(parsed);
}

PointResults ReadPoint(const json::value& value) {
  PointResults results;
  internal::ReadKnownFields(value, results.point);
  const json::object& object = value.get_object();
  results.point.scenario = Take(ScenarioFromJson(object.at("scenario")));
  if (const json::value* const best = object.if_contains("best_interval")) {
    results.interval = Take(BestFromJson(*best));
  }
  for (const auto& member : object.at("policies").as_object()) {
    results.policies.emplace(member.key(), Take(ResultFromJson(member.value())));
  }
  return results;
}

}  // namespace

json::object GridFileToJson(const GridFile& file) {
  json::array points;
  for (const PointResults& results : file.points) points.emplace_back(WritePoint(results));
  std::vector<std::string> names = file.policies;
  for (const std::string& name : NaturalPolicies()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  json::object summary;
  for (const std::string& name : names) {
    json::array& rows = summary[name].emplace_array();
    for (RegretRow& row : Summarise(file.points, name)) {
      rows.push_back(internal::ToJson(Rounded(std::move(row))));
    }
  }
  return {{"grid", file.grid},
          {"policies", json::value_from(file.policies)},
          {"summary", std::move(summary)},
          {"points", std::move(points)}};
}

Parsed<GridFile> ReadGridFile(std::string_view text) try {
  const json::value value = Take(ParseJson(text));
  GridFile file;
  file.grid = value.at("grid").as_string();
  file.policies = json::value_to<std::vector<std::string>>(value.at("policies"));
  for (const json::value& point : value.at("points").as_array()) {
    file.points.push_back(ReadPoint(point));
  }
  return file;
} catch (const internal::FieldError& error) {
  return TextError{error.what()};
} catch (const std::exception&) {  // a member is missing or of another type
  return TextError{"this is no file that `stout-sim grid --json` wrote"};
}

}  // namespace stout::sim
