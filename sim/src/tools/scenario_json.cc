#include "stout/sim/scenario_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "scenario_fields.h"

namespace stout::sim {
namespace {

namespace json = boost::json;
using internal::FieldError;
using internal::Require;

void CheckArrivals(const ClientSpec& clients) {
  if (clients.arrivals == ClientSpec::Arrivals::kMmpp) {
    Require(clients.burst_factor * clients.burst_share <= 1,
            fmt::format("\"clients.burst_factor\" x \"clients.burst_share\" is {:g}; it must be at "
                        "most 1, or the bursts alone are more than the mean rate",
                        clients.burst_factor * clients.burst_share));
  }
  Require(!clients.recording || clients.start_spread_s == 0,
          "\"clients.start_spread_s\" must be 0 with a recording, whose keys would move between "
          "clients that start");
  if (clients.arrivals == ClientSpec::Arrivals::kRecorded && !clients.recording) {
    Require(!clients.trace_s.empty() && clients.trace_s.back() > 0,
            "\"clients.arrivals\" is \"recorded\"; \"clients.trace_s\" must then hold the times of "
            "the arrivals, in seconds");
    const auto late = std::is_sorted_until(clients.trace_s.begin(), clients.trace_s.end());
    Require(late == clients.trace_s.end(),
            fmt::format("\"clients.trace_s[{}]\" is before the time that precedes it; the times "
                        "must ascend",
                        late - clients.trace_s.begin()));
  }
}

void CheckStore(const StoreSpec& store) {
  constexpr double kShortestPauseS = 1e-6;
  Require(store.pause_every_s == 0 || store.pause_every_s >= kShortestPauseS,
          fmt::format("\"store.pause_every_s\" is {:g}; it must be 0, or at least {:g}",
                      store.pause_every_s, kShortestPauseS));
  Require(store.tokens_per_s > 0 || (store.token_burst == 0 && store.tokens_per_batch == 0),
          "\"store.token_burst\" and \"store.tokens_per_batch\" need \"store.tokens_per_s\" "
          "above 0");
  Require(store.kind == StoreSpec::Kind::kSharedProcessors ||
              (store.client_per_batch_us == 0 && store.client_per_item_us == 0),
          "\"store.client_per_batch_us\" and \"store.client_per_item_us\" need \"store.kind\" "
          "shared_processors");
}

/// Refuses sizes that fit no memory, rather than trying them.
void CheckSize(const Scenario& scenario) {
  constexpr std::uint64_t kMaxZipfKeys = 20'000'000;
  Require(scenario.keys.zipf == 0 || scenario.keys.count <= kMaxZipfKeys,
          fmt::format("\"keys.count\" is {}; with \"keys.zipf\" it must be at most {}, for each "
                      "key's share is kept in memory",
                      scenario.keys.count, kMaxZipfKeys));
  const ClientSpec& clients = scenario.clients;
  std::uint64_t most = clients.count;
  for (const Step& step : scenario.steps)
    most = std::max<std::uint64_t>(most, step.clients.value_or(0));
  constexpr std::uint64_t kMaxLanes = 20'000;
  const std::uint64_t lanes = clients.lanes == ClientSpec::Lanes::kPerPartition &&
                                      scenario.store.kind == StoreSpec::Kind::kPartitioned
                                  ? scenario.store.partitions
                                  : 1;
  Require(most * lanes <= kMaxLanes,
          fmt::format("there are up to {} clients with {} lanes each; there must be at most {} "
                      "lanes in all: fewer clients, fewer partitions, or \"clients.lanes\" one",
                      most, lanes, kMaxLanes));
  constexpr std::uint64_t kMaxCallers = 20'000'000;
  Require(clients.arrivals != ClientSpec::Arrivals::kClosed ||
              most * clients.outstanding <= kMaxCallers,
          fmt::format("there are up to {} clients with {} callers each; there must be at most {} "
                      "callers in all",
                      most, clients.outstanding, kMaxCallers));
}

void CheckSteps(const Scenario& scenario) {
  double before = 0;
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    const Step& step = scenario.steps[i];
    const int changes =
        step.total_rate_per_s.has_value() + step.clients.has_value() + step.store_speed.has_value();
    Require(changes == 1,
            fmt::format("\"steps[{}]\" changes {}; it must have exactly one of total_rate_per_s, "
                        "clients and store_speed (two changes at one time are two steps)",
                        i, changes == 0 ? "nothing" : fmt::format("{} things", changes)));
    Require(!step.total_rate_per_s || internal::HasRate(scenario.clients.arrivals),
            fmt::format("\"steps[{}]\" changes a rate that these clients do not have: "
                        "\"clients.arrivals\" must be poisson, mmpp or on_off, without a recording",
                        i));
    Require(!step.clients || scenario.clients.start_spread_s == 0,
            fmt::format("\"steps[{}]\" changes the number of clients while they start: "
                        "\"clients.start_spread_s\" must then be 0",
                        i));
    Require(step.at_s >= before,
            fmt::format("\"steps[{}].at_s\" is {:g}, before the step that precedes it; steps must "
                        "be in order of time",
                        i, step.at_s));
    Require(step.at_s < scenario.duration_s,
            fmt::format("\"steps[{}].at_s\" is {:g}; it must be before \"duration_s\", {:g}", i,
                        step.at_s, scenario.duration_s));
    before = step.at_s;
  }
}

void CheckTogether(const Scenario& scenario) {
  Require(scenario.warmup_s < scenario.duration_s,
          fmt::format("\"warmup_s\" is {:g}; it must be less than \"duration_s\", {:g}",
                      scenario.warmup_s, scenario.duration_s));
  Require(
      scenario.clients.start_spread_s < scenario.duration_s,
      fmt::format("\"clients.start_spread_s\" is {:g}; it must be less than \"duration_s\", {:g}",
                  scenario.clients.start_spread_s, scenario.duration_s));
  constexpr double kMaxSlices = 1e6;
  Require(scenario.timeline_s == 0 || scenario.timeline_s * kMaxSlices >= scenario.duration_s,
          fmt::format("\"timeline_s\" is {:g}; it must be 0, or make at most {:g} slices",
                      scenario.timeline_s, kMaxSlices));
  CheckStore(scenario.store);
  CheckSize(scenario);
  CheckArrivals(scenario.clients);
  CheckSteps(scenario);
}

/// "number of at least 0", "integer", "text", "fifo, workers, ...".
std::string TypeText(const json::object& schema) {
  if (const json::value* const names = schema.if_contains("enum")) {
    std::string text;
    for (const json::value& name : names->as_array()) {
      text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name.as_string().c_str());
    }
    return text;
  }
  const std::string_view type = schema.at("type").as_string();
  if (type == "array") return "array of " + TypeText(schema.at("items").as_object());
  std::string text(type == "string" ? "text" : type);
  const auto bound = [&](std::string_view name, std::string_view sign) {
    const json::value* const value = schema.if_contains(name);
    if (value != nullptr) text += fmt::format(" {} {:.15g}", sign, value->to_number<double>());
  };
  bound("minimum", "≥");
  bound("exclusiveMinimum", ">");
  bound("maximum", "≤");
  bound("exclusiveMaximum", "<");
  return text;
}

/// Such a field's own fields are not repeated in a table.
constexpr std::string_view kDescribedElsewhere = "as in a scenario";

/// The default as JSON, in code quotes; nothing where there is none.
std::string DefaultText(const json::object& field) {
  const json::value* const value = field.if_contains("default");
  if (value == nullptr) return "";
  std::string text = JsonText(*value, 0);
  text.pop_back();  // the end of the line
  return fmt::format("`{}`", text);
}

void AddRows(std::string& table, const json::object& properties, const std::string& prefix,
             bool with_defaults) {
  for (const auto& member : properties) {
    const json::object& field = member.value().as_object();
    const std::string name = prefix + std::string(member.key());
    const std::string default_cell =
        with_defaults ? fmt::format(" {} |", DefaultText(field)) : std::string();
    fmt::format_to(std::back_inserter(table), "| `{}` | {} |{} {} |\n", name, TypeText(field),
                   default_cell, field.at("description").as_string().c_str());
    if (field.at("description").as_string().starts_with(kDescribedElsewhere)) continue;
    const json::value* const items = field.if_contains("items");
    const json::object& inner = items == nullptr ? field : items->as_object();
    if (const json::value* const inner_properties = inner.if_contains("properties")) {
      AddRows(table, inner_properties->as_object(), name + (items == nullptr ? "." : "[]."),
              with_defaults);
    }
  }
}

}  // namespace

std::optional<TextError> Validate(const Scenario& scenario) {
  // Through JSON, so that ranges are checked by the one table that knows them.
  json::object fields = ScenarioToJson(scenario);
  fields["duration_s"] = scenario.duration_s;  // otherwise the length of the recording
  const Parsed<Scenario> again = ScenarioFromJson(fields, scenario.clients.recording);
  if (again) return std::nullopt;
  return again.error();
}

Parsed<Scenario> ReadScenario(std::string_view text, std::shared_ptr<const Recording> recording) {
  const Parsed<json::value> value = ParseJson(text);
  if (!value) return value.error();
  return ScenarioFromJson(*value, std::move(recording));
}

Parsed<Scenario> ScenarioFromJson(const json::value& value,
                                  std::shared_ptr<const Recording> recording) try {
  Scenario scenario;
  if (recording) {
    scenario.duration_s = std::chrono::duration<double>(recording->Length()).count();
  }
  internal::ReadFields(value, scenario);
  if (recording) {
    scenario.clients.arrivals = ClientSpec::Arrivals::kRecorded;
    scenario.clients.recording = std::move(recording);
  }
  CheckTogether(scenario);
  return scenario;
} catch (const FieldError& error) {
  return TextError{error.what()};
}

json::object ScenarioToJson(const Scenario& scenario) {
  return internal::WriteChangedFields(scenario);
}

json::object ScenarioSchema() {
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "A scenario of stout-sim"}};
  for (auto& member : internal::SchemaOf(Scenario{})) schema[member.key()] = member.value();
  json::object& step = schema.at("properties").at("steps").as_object().at("items").as_object();
  json::array one_of;
  for (const auto& field : step.at("properties").as_object()) {
    if (field.key() == "at_s") continue;
    one_of.emplace_back(json::object{{"required", json::array{field.key()}}});
  }
  step["oneOf"] = std::move(one_of);
  return schema;
}

std::string FieldTable(const json::object& schema) {
  const json::object& properties = schema.at("properties").as_object();
  const bool with_defaults = std::any_of(
      properties.begin(), properties.end(),
      [](const auto& member) { return member.value().as_object().contains("default"); });
  std::string table = with_defaults ? "| field | type | default | meaning |\n|---|---|---|---|\n"
                                    : "| field | type | meaning |\n|---|---|---|\n";
  AddRows(table, properties, "", with_defaults);
  return table;
}

}  // namespace stout::sim
