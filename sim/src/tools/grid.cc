#include "stout/sim/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "queueing.h"
#include "rounding.h"
#include "scenario_fields.h"
#include "stout/sim/scenario_json.h"

namespace stout::sim {

namespace json = boost::json;
using internal::FieldError;
using internal::Require;

namespace {

// A load of 100 % is more than any policy can carry.
constexpr internal::Range kLoads{.min = 0, .max = 100, .above_min = true};

}  // namespace

template <typename Visitor, internal::SameAs<StoreModel> Model>
void Describe(Visitor& visit, Model& model) {
  using internal::kAny;
  visit("name", model.name, kAny, "names the store in points and tables");
  visit("family", model.family, kAny, "groups stores in tables; default: the store's kind");
  visit("store", model.store, kAny, "as in a scenario");
}

template <typename Visitor, internal::SameAs<VariantStep> S>
void Describe(Visitor& visit, S& step) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("at_share", step.at_share, Range{.min = 0, .max = 1, .below_max = true},
        "time of the step, as a share of the point's duration");
  visit("rate_factor", step.rate_factor, Between(1e-6, 1e6),
        "the new rate of all clients, over that of the point's load");
  visit("clients", step.clients, kClientCounts, "as in a scenario's step");
  visit("store_speed", step.store_speed, Between(1e-6, 1e6), "as in a scenario's step");
}

template <typename Visitor, internal::SameAs<Variant> V>
void Describe(Visitor& visit, V& variant) {
  using internal::kAny;
  visit("name", variant.name, kAny, "names the variant in points and tables");
  visit("stores", variant.stores, kAny, "names of the stores; default: all");
  visit("client_counts", variant.client_counts, kClientCounts,
        "numbers of application servers; default: the grid's");
  visit("loads_percent", variant.loads_percent, kLoads, "loads; default: the grid's");
  visit("clients", variant.clients, kAny,
        "as in a scenario, without count, total_rate_per_s and think_us, which follow from the "
        "point; callers of a closed loop that got each reply at once would make its load");
  visit("keys", variant.keys, kAny, "as in a scenario");
  visit("steps", variant.steps, kAny, "changes during each point");
}

template <typename Visitor, internal::SameAs<Grid> G>
void Describe(Visitor& visit, G& grid) {
  using namespace internal;  // NOLINT(google-build-using-namespace)
  visit("name", grid.name, kAny, "name in tables and plots; default: the file's name");
  visit("seed", grid.seed, AtLeast(0), "seed of every point");
  visit("seeds", grid.seeds, Between(1, 1000),
        "number of runs of each point and policy, with seed, seed + 1, ...; the run with the "
        "median mean latency is kept");
  visit("round_trips", grid.round_trips, Above(0),
        "length of a point, in round trips of the whole fleet, warm-up included");
  visit("warmup_round_trips", grid.warmup_round_trips, AtLeast(0),
        "the part of round_trips that is warm-up");
  visit("min_changes", grid.min_changes, AtLeast(1),
        "a point is made longer until it has this number of changes");
  visit("min_batches", grid.min_batches, AtLeast(0),
        "a point is made longer until it has this number of batches, one per server and round "
        "trip: few servers need more time for an equally good mean");
  visit("max_changes", grid.max_changes, AtLeast(1),
        "a point is cut at this number of changes, and is marked as cut");
  visit("min_round_trips", grid.min_round_trips, Above(0),
        "a point is never cut below this number of round trips");
  visit("keys", grid.keys, kAny, "as in a scenario");
  visit("stores", grid.stores, kAny, "the store models");
  visit("client_counts", grid.client_counts, kClientCounts, "numbers of application servers");
  visit("loads_percent", grid.loads_percent, kLoads,
        "offered changes, in percent of the rate that perfect batching sustains");
  visit("variants", grid.variants, kAny, "further points, with other clients or keys");
}

namespace {

/// Short, so that the scenario that JSON gives back is the same.
double Rounded(double value) { return internal::RoundedTo(6, value); }

void CheckStores(Grid& grid) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < grid.stores.size(); ++i) {
    StoreModel& model = grid.stores[i];
    Require(!model.name.empty(), fmt::format("\"stores[{}].name\" is missing", i));
    Require(names.insert(model.name).second,
            fmt::format("\"stores[{}].name\" is \"{}\", as another store's", i, model.name));
    if (model.family.empty()) {
      model.family = NamesOf(model.store.kind)[static_cast<std::size_t>(model.store.kind)];
    }
  }
}

void CheckVariants(const Grid& grid) {
  std::vector<std::string_view> stores;
  for (const StoreModel& model : grid.stores) stores.push_back(model.name);
  std::set<std::string> names;
  for (std::size_t i = 0; i < grid.variants.size(); ++i) {
    const Variant& variant = grid.variants[i];
    const std::string path = fmt::format("variants[{}]", i);
    Require(!variant.name.empty() && names.insert(variant.name).second,
            fmt::format("\"{}.name\" is missing, or another variant's", path));
    for (const std::string& name : variant.stores) {
      Require(std::find(stores.begin(), stores.end(), name) != stores.end(),
              fmt::format("\"{}.stores\" names \"{}\", which is not in \"stores\"{}", path, name,
                          internal::DidYouMean(name, stores)));
    }
    const ClientSpec unset;
    Require(variant.clients.count == unset.count &&
                variant.clients.total_rate_per_s == unset.total_rate_per_s &&
                variant.clients.think_us == unset.think_us,
            fmt::format("\"{}.clients\" has count, total_rate_per_s or think_us; in a grid these "
                        "come from client_counts and loads_percent",
                        path));
    Require(variant.clients.read_fraction < 1,
            fmt::format("\"{}.clients.read_fraction\" is 1; it must be less, because loads are "
                        "changes",
                        path));
    Require(variant.clients.arrivals != ClientSpec::Arrivals::kRecorded,
            fmt::format("\"{}.clients.arrivals\" must not be recorded: a recording has a rate of "
                        "its own, and no load in percent",
                        path));
  }
}

void CheckTogether(Grid& grid) {
  Require(!grid.stores.empty(), "\"stores\" is empty; a grid needs at least one store");
  Require(!grid.client_counts.empty() && !grid.loads_percent.empty(),
          "\"client_counts\" or \"loads_percent\" is empty; a grid needs at least one of each");
  Require(grid.warmup_round_trips < grid.round_trips,
          fmt::format("\"warmup_round_trips\" is {:g}; it must be less than \"round_trips\", {:g}",
                      grid.warmup_round_trips, grid.round_trips));
  Require(grid.min_changes <= grid.max_changes,
          fmt::format("\"min_changes\" is {}; it must be at most \"max_changes\", {}",
                      grid.min_changes, grid.max_changes));
  Require(grid.min_round_trips <= grid.round_trips,
          fmt::format("\"min_round_trips\" is {:g}; it must be at most \"round_trips\", {:g}",
                      grid.min_round_trips, grid.round_trips));
  CheckStores(grid);
  CheckVariants(grid);
  // The remaining errors are those of a scenario: too few keys, bursts that exceed the load.
  for (const GridPoint& point : Expand(grid)) {
    const std::optional<TextError> error = Validate(point.scenario);
    Require(!error, fmt::format("point {}: {}", point.name, error ? error->what : ""));
  }
}

GridPoint MakePoint(const Grid& grid, const StoreModel& model, const Variant& variant,
                    std::uint32_t clients, double load_percent) {
  GridPoint point{.store = model.name,
                  .family = model.family,
                  .variant = variant.name,
                  .clients = clients,
                  .load_percent = load_percent,
                  .seeds = grid.seeds};
  point.name = fmt::format("{}{}{}/N{}/{:g}%", model.name, variant.name.empty() ? "" : "/",
                           variant.name, clients, load_percent);
  const double rate = Rounded(load_percent / 100 * internal::ItemCapacity(model.store));
  const double round_trip = FleetRoundTrip(model.store, clients, rate);
  const auto min_changes = static_cast<double>(grid.min_changes);
  const auto max_changes = static_cast<double>(grid.max_changes);
  const double regular = grid.round_trips * round_trip;
  const double batches = static_cast<double>(grid.min_batches) / clients * round_trip;
  const double most = std::max(max_changes / rate, grid.min_round_trips * round_trip);
  const double duration = std::min(std::max({regular, min_changes / rate, batches}), most);
  point.round_trip_ms = Rounded(round_trip * 1e3);
  point.round_trips = Rounded(duration / round_trip);
  point.cut = duration < regular;

  Scenario& scenario = point.scenario;
  scenario.name = point.name;
  scenario.seed = grid.seed;
  scenario.duration_s = Rounded(duration);
  scenario.warmup_s = Rounded(duration * grid.warmup_round_trips / grid.round_trips);
  scenario.store = model.store;
  scenario.clients = variant.clients;
  scenario.clients.count = clients;
  const double requests = internal::RequestRate(variant.clients, rate);
  scenario.clients.total_rate_per_s = Rounded(requests);
  if (variant.clients.arrivals == ClientSpec::Arrivals::kClosed) {
    scenario.clients.think_us = Rounded(clients * 1e6 * variant.clients.outstanding / requests);
  }
  scenario.keys = variant.keys;
  for (const VariantStep& step : variant.steps) {
    scenario.steps.push_back({.at_s = Rounded(step.at_share * duration),
                              .total_rate_per_s = {},
                              .clients = step.clients,
                              .store_speed = step.store_speed});
    if (step.rate_factor) {
      scenario.steps.back().total_rate_per_s = Rounded(requests * *step.rate_factor);
    }
  }
  // Numbers of a grid may have more digits than those of a file, whose results must be found again.
  if (auto written = ScenarioFromJson(ScenarioToJson(scenario))) scenario = std::move(*written);
  return point;
}

}  // namespace

double FleetRoundTrip(const StoreSpec& store, std::uint32_t clients, double rate_per_s) {
  constexpr double kMicrosecond = 1e-6;
  constexpr double kMinSlack = 0.02;  // near saturation a round trip has no bound
  constexpr double kFilled = 0.3;     // items of a batch, below which clients do not queue
  const double share = 1 - store.background_load;
  const double load = rate_per_s / internal::ServiceCapacity(store) * share;
  const double slack = std::max(kMinSlack, share - load);
  double work = clients * (store.per_batch_us + store.client_per_batch_us) * kMicrosecond;
  if (store.kind == StoreSpec::Kind::kGroupCommit) work += store.sync_us * kMicrosecond;
  // A batch costs every partition its part, but only one of the workers.
  const bool shared = store.kind == StoreSpec::Kind::kSharedProcessors;
  if (store.kind == StoreSpec::Kind::kWorkers || shared) work /= store.workers;
  double cycle = work / slack;
  if (shared) cycle += store.sync_us * kMicrosecond;
  if (store.tokens_per_s > 0) {
    const double left = std::max(kMinSlack, 1 - rate_per_s / store.tokens_per_s);
    cycle = std::max(cycle, clients * store.tokens_per_batch / (store.tokens_per_s * left));
  }
  const double items = rate_per_s / clients * cycle;
  const double unloaded = internal::UnloadedLatency(store);
  if (items < kFilled) return unloaded;
  // With more workers than clients, one batch may take longer than its turn comes round.
  const double split = store.kind == StoreSpec::Kind::kPartitioned ? store.partitions : 1;
  const double batch =
      unloaded + std::max(0.0, items / split - 1) * store.per_item_us * kMicrosecond;
  return std::max(cycle, batch);
}

std::vector<GridPoint> Expand(const Grid& grid) {
  std::vector<GridPoint> points;
  const auto add = [&](const Variant& variant) {
    const auto or_default = [](const auto& own, const auto& grids) -> const auto& {
      return own.empty() ? grids : own;
    };
    for (const StoreModel& model : grid.stores) {
      const auto named = std::find(variant.stores.begin(), variant.stores.end(), model.name);
      if (!variant.stores.empty() && named == variant.stores.end()) continue;
      for (const std::uint32_t clients : or_default(variant.client_counts, grid.client_counts)) {
        for (const double load : or_default(variant.loads_percent, grid.loads_percent)) {
          points.push_back(MakePoint(grid, model, variant, clients, load));
        }
      }
    }
  };
  add({.keys = grid.keys});
  for (const Variant& variant : grid.variants) add(variant);
  return points;
}

Parsed<Grid> ReadGrid(std::string_view text) try {
  const Parsed<json::value> value = ParseJson(text);
  if (!value) return value.error();
  Grid grid;
  internal::ReadFields(*value, grid);
  CheckTogether(grid);
  return grid;
} catch (const FieldError& error) {
  return TextError{error.what()};
}

json::object GridSchema() {
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "A grid of stout-sim"},
                      {"required", {"stores", "client_counts", "loads_percent"}}};
  for (auto& member : internal::SchemaOf(Grid{})) schema[member.key()] = member.value();
  return schema;
}

}  // namespace stout::sim
