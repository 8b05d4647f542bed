#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/sim/json_text.h"
#include "stout/sim/scenario.h"

namespace stout::sim {

/// A store that a grid tries; `family` groups stores in tables.
struct StoreModel {
  std::string name;
  std::string family;
  StoreSpec store;

  bool operator==(const StoreModel&) const = default;
};

/// A change during the points of a variant: as a Step, at a share of their duration.
struct VariantStep {
  double at_share = 0;
  std::optional<double> rate_factor;  ///< The new rate, over that of the point's load.
  std::optional<std::uint32_t> clients;
  std::optional<double> store_speed;

  bool operator==(const VariantStep&) const = default;
};

/// Further points: some of the stores, with other clients or keys.
struct Variant {
  std::string name;
  std::vector<std::string> stores;  ///< Names of the grid's stores.
  std::vector<std::uint32_t> client_counts;
  std::vector<double> loads_percent;
  ClientSpec clients;  ///< without count and rate, which the grid sets
  KeySpec keys;
  std::vector<VariantStep> steps;

  bool operator==(const Variant&) const = default;
};

/// Scenarios to try a policy on: every store with every number of clients at every load, and
/// variants. docs/SIMULATION.md has the JSON form.
///
/// Times are in round trips of the whole fleet. Stores whose speeds differ by decades are therefore
/// run for equally long from a policy's point of view.
struct Grid {
  std::string name;
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;   ///< A point is run with `seed`, `seed + 1`, ..., and the median kept.
  double round_trips = 250;  ///< Warm-up included.
  double warmup_round_trips = 100;
  std::uint64_t min_changes = 25'000;  ///< a point is lengthened to this number of changes
  std::uint64_t min_batches = 5'000;   ///< and to this number of batches, one per server and round
  std::uint64_t max_changes = 2'000'000;  ///< a point is cut at this number of changes
  double min_round_trips = 20;            ///< but never below this number of round trips
  KeySpec keys;  ///< keys of all points, except where a variant has its own
  std::vector<StoreModel> stores;
  std::vector<std::uint32_t> client_counts;
  std::vector<double> loads_percent;  ///< in percent of the rate that perfect batching sustains
  std::vector<Variant> variants;

  bool operator==(const Grid&) const = default;
};

/// One scenario of a grid, and where it stands in it.
struct GridPoint {
  std::string name;  ///< "base/zipf/N32/45%"
  std::string store, family;
  std::string variant;  ///< Empty: none.
  std::uint32_t clients = 1;
  double load_percent = 0;
  double round_trip_ms = 0;  ///< of the whole fleet
  double round_trips = 0;    ///< That the point has; fewer than the grid's if it was cut.
  bool cut = false;          ///< At max_changes.
  std::uint32_t seeds = 1;   ///< It is run with the scenario's seed and those that follow it.
  Scenario scenario;

  bool operator==(const GridPoint&) const = default;
};

/// Errors: as ReadScenario's.
[[nodiscard]] Parsed<Grid> ReadGrid(std::string_view text);
/// JSON Schema of a grid file, as in docs/grid.schema.json.
[[nodiscard]] boost::json::object GridSchema();

/// Every point: stores x clients x loads, then the variants in order. Requires a grid from
/// ReadGrid.
[[nodiscard]] std::vector<GridPoint> Expand(const Grid& grid);

/// Returns the round trip of the whole fleet, in seconds: the time in which the store can serve
/// each of `clients` servers one batch of the changes that it gathers meanwhile. It is at least the
/// time of such a batch. If the clients are too slow to fill batches, it is that of an idle store.
[[nodiscard]] double FleetRoundTrip(const StoreSpec& store, std::uint32_t clients,
                                    double rate_per_s);

}  // namespace stout::sim
