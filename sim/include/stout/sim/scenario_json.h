#pragma once

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/sim/json_text.h"
#include "stout/sim/recording.h"
#include "stout/sim/scenario.h"

namespace stout::sim {

/// Reads a scenario: the JSON of docs/SIMULATION.md, in which every field may be left out.
///
///     const Parsed<Scenario> scenario = ReadScenario(R"({"clients": {"cuont": 32}})");
///     if (!scenario) Print(scenario.error().what);  // "clients.cuont" is unknown; did you mean
///     ...
///
/// Errors: not JSON, an unknown field, a value of the wrong type or out of range, or fields that do
/// not go together. The policy's text is not looked at: who runs the scenario knows what there is.
///
/// Unless `recording` is null, it takes the place of the arrivals and keys. Its length is then the
/// duration by default. Requires that it has a change.
[[nodiscard]] Parsed<Scenario> ReadScenario(std::string_view text,
                                            std::shared_ptr<const Recording> recording = nullptr);
[[nodiscard]] Parsed<Scenario> ScenarioFromJson(
    const boost::json::value& value, std::shared_ptr<const Recording> recording = nullptr);

/// Returns nullopt if the fields go together, otherwise the error. For scenarios that did not come
/// from JSON.
[[nodiscard]] std::optional<TextError> Validate(const Scenario& scenario);

/// Writes the fields that differ from their defaults: the shortest object that ReadScenario reads
/// back as `scenario`.
[[nodiscard]] boost::json::object ScenarioToJson(const Scenario& scenario);

/// JSON Schema (draft 2020-12) of a scenario file, as in docs/scenario.schema.json.
[[nodiscard]] boost::json::object ScenarioSchema();

/// The fields that a schema describes as a Markdown table, as in docs/SIMULATION.md: name, type and
/// range, default, meaning.
[[nodiscard]] std::string FieldTable(const boost::json::object& schema);

}  // namespace stout::sim
