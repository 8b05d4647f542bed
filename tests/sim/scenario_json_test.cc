// Scenario, grid and result files: a file that is read comes back, errors are named with their
// remedy, and the schemas and tables in docs/ match the readers.

#include "stout/sim/scenario_json.h"

#include <boost/pfr/tuple_size.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "stout/sim/grid.h"
#include "stout/sim/result_json.h"
#include "tests/support/catch.h"

namespace stout::sim {
namespace {

namespace json = boost::json;
using Catch::Contains;

/// JSON has every field of the clients but the recording.
constexpr std::size_t kClientFields = boost::pfr::tuple_size_v<ClientSpec> - 1;

std::string SourceFile(const std::string& name) {
  std::ifstream in(std::string(STOUT_SOURCE_DIR) + "/" + name);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string ErrorOf(std::string_view text) {
  const Parsed<Scenario> scenario = ReadScenario(text);
  return scenario ? "none" : scenario.error().what;
}

std::string GridErrorOf(std::string_view text) {
  const Parsed<Grid> grid = ReadGrid(text);
  return grid ? "none" : grid.error().what;
}

/// Every field differs from its default.
Scenario UnlikeTheDefault() {
  Scenario scenario{.name = "everything \"quoted\"",
                    .duration_s = 20.5,
                    .warmup_s = 0.125,
                    .seed = 18'446'744'073'709'551'615U,
                    .timeline_s = 0.5,
                    .policy = "natural:4"};
  scenario.store = {.kind = StoreSpec::Kind::kSharedProcessors,
                    .per_batch_us = 12.5,
                    .per_item_us = 0.75,
                    .sync_us = 5000,
                    .client_per_batch_us = 100,
                    .client_per_item_us = 10,
                    .workers = 8,
                    .partitions = 4,
                    .rtt_us = 0,
                    .jitter_us = 1000,
                    .jitter_reorders = true,
                    .noise_sigma = 0.7,
                    .slow_share = 0.01,
                    .slow_factor = 20,
                    .background_load = 0.3,
                    .queue_limit = 100,
                    .tokens_per_s = 1000,
                    .token_burst = 2000,
                    .tokens_per_batch = 5,
                    .pause_every_s = 5,
                    .pause_ms = 200,
                    .pause_regular = true};
  scenario.clients = {.count = 32,
                      .lanes = ClientSpec::Lanes::kPerPartition,
                      .total_rate_per_s = 12345.678,
                      .spread = 30,
                      .heavy_share = 0.25,
                      .start_spread_s = 5,
                      .clock_offset_us = 5000,
                      .arrivals = ClientSpec::Arrivals::kMmpp,
                      .burst_factor = 2,
                      .burst_share = 0.25,
                      .burst_ms = 50,
                      .on_ms = 30,
                      .off_ms = 70,
                      .think_us = 10,
                      .outstanding = 3,
                      .trace_s = {0, 0.001, 0.001, 2.5},
                      .read_fraction = 0.9,
                      .max_batch_items = 100,
                      .max_batches_in_flight = 7,
                      .max_dirty_keys = 5000,
                      .max_delay_s = 1,
                      .attempt_timeout_s = 2,
                      .reply_deadline_s = 3};
  scenario.keys = {.count = 10'000, .zipf = 0.9};
  scenario.steps = {{.at_s = 1, .total_rate_per_s = 8000, .clients = {}, .store_speed = {}},
                    {.at_s = 2.5, .total_rate_per_s = {}, .clients = {}, .store_speed = 0.5}};
  return scenario;
}

std::size_t Properties(const json::value& schema) {
  return schema.at("properties").as_object().size();
}

}  // namespace

TEST_CASE("a scenario comes back as it was written", "[scenario_json]") {
  const Scenario scenario = UnlikeTheDefault();
  const json::object object = ScenarioToJson(scenario);
  CHECK(object.size() == boost::pfr::tuple_size_v<Scenario>);
  CHECK(object.at("store").as_object().size() == boost::pfr::tuple_size_v<StoreSpec>);
  CHECK(object.at("clients").as_object().size() == kClientFields);
  CHECK(ReadScenario(JsonText(object)).value() == scenario);
  CHECK(ReadScenario(json::serialize(object)).value() == scenario);
  CHECK_FALSE(Validate(scenario));
}

TEST_CASE("what is at its default is not written, and may be left out", "[scenario_json]") {
  CHECK(ScenarioToJson({}).empty());
  CHECK(ReadScenario("{}").value() == Scenario{});
  CHECK(JsonText(ScenarioToJson({.seed = 7, .store = {.rtt_us = 20}})) ==
        "{\"seed\": 7, \"store\": {\"rtt_us\": 20}}\n");
}

TEST_CASE("a field that nobody knows is refused by name, with the one that was meant",
          "[scenario_json]") {
  CHECK(ErrorOf(R"({"clients": {"cuont": 3}})") ==
        R"("clients.cuont" is unknown; did you mean "count"?)");
  CHECK(ErrorOf(R"({"steps": [{"at_s": 1, "client": 3}]})") ==
        R"("steps[0].client" is unknown; did you mean "clients"?)");
  CHECK(ErrorOf(R"({"keys": {"temperature": 3}})") ==
        R"("keys.temperature" is unknown; allowed here: count, zipf)");
}

TEST_CASE("a wrong value is refused by field, with what it is and what is allowed",
          "[scenario_json]") {
  CHECK(ErrorOf(R"({"duration_s": "long"})") ==
        R"("duration_s" is "long"; it must be a number above 0 and at most 1000000)");
  CHECK(ErrorOf(R"({"clients": {"count": 0}})") ==
        R"("clients.count" is 0; it must be an integer of at least 1 and at most 10000)");
  CHECK_THAT(ErrorOf(R"({"clients": {"count": 1.5}})"), Contains("is 1.5; it must be an integer"));
  CHECK_THAT(ErrorOf(R"({"seed": -1})"), Contains("\"seed\" is -1; it must be an integer"));
  CHECK_THAT(ErrorOf(R"({"seed": 1e30})"), Contains("it must be an integer"));
  CHECK(ErrorOf(R"({"store": {"background_load": 1}})") ==
        R"("store.background_load" is 1; it must be a number of at least 0 and below 1)");
  CHECK(ErrorOf(R"({"store": {"kind": "fiffo"}})") ==
        R"("store.kind" is "fiffo"; it must be one of fifo, workers, partitioned, group_commit, )"
        R"(shared_processors; did you mean "fifo"?)");
  CHECK_THAT(ErrorOf(R"({"store": {"jitter_us": -1}})"),
             Contains("\"store.jitter_us\" is -1; it must be a number of at least 0"));
  CHECK(ErrorOf(R"({"store": {"jitter_reorders": 1}})") ==
        R"("store.jitter_reorders" is 1; it must be true or false)");
  CHECK(ErrorOf(R"({"store": {"slow_share": 1}})") ==
        R"("store.slow_share" is 1; it must be a number of at least 0 and below 1)");
  CHECK_THAT(ErrorOf(R"({"store": {"slow_factor": 0.5}})"),
             Contains("\"store.slow_factor\" is 0.5; it must be a number of at least 1"));
  CHECK(ErrorOf(R"({"store": {"pause_regular": "yes"}})") ==
        R"("store.pause_regular" is "yes"; it must be true or false)");
  CHECK(ErrorOf(R"({"store": []})") == R"("store" is []; it must be an object {...})");
  CHECK(ErrorOf(R"({"steps": {}})") == R"("steps" is {}; it must be an array)");
  CHECK(ErrorOf(R"({"clients": {"trace_s": [0, "x"]}})") ==
        R"("clients.trace_s[1]" is "x"; it must be a number of at least 0 and at most 1000000)");
  CHECK(ErrorOf(R"({"policy": 7})") == R"("policy" is 7; it must be a text in quotes)");
  CHECK(ErrorOf("[1]") == "it is [1]; it must be an object {...}");
  CHECK(ReadScenario(R"({"seed": 1e6})").value().seed == 1'000'000);
}

TEST_CASE("times that no run could count are refused: they would stop its clock, or overflow it",
          "[scenario_json]") {
  const std::string text =
      GENERATE(R"({"store": {"per_batch_us": 1e999}})", R"({"store": {"rtt_us": 1e300}})",
               R"({"store": {"per_item_us": 1e-300}})", R"({"store": {"pause_every_s": 1e-300}})",
               R"({"store": {"pause_ms": 1e300}})", R"({"clients": {"think_us": 1e300}})",
               R"({"clients": {"total_rate_per_s": 1e300}})",
               R"({"clients": {"burst_ms": 1e-300}})", R"({"clients": {"clock_offset_us": 1e300}})",
               R"({"timeline_s": 1e-10})", R"({"steps": [{"at_s": 1, "store_speed": 1e-300}]})",
               R"({"steps": [{"at_s": 1, "total_rate_per_s": 1e300}]})");
  CAPTURE(text);
  CHECK_THAT(ErrorOf(text), Contains("it must be"));
}

TEST_CASE("text that is no JSON is refused with its line and column", "[scenario_json]") {
  CHECK(ErrorOf("{\"seed\": 1,\n  \"policy\" \"natural\"}") ==
        "line 2, column 12 of the JSON: syntax error");
  CHECK_THAT(ErrorOf("{} x"), Contains("line 1, column 4"));
  CHECK(ErrorOf("{\"name\": \"a\\\": {\",\n \"seed\": 1, \"seed\": 2}") ==
        "line 2, column 14 of the JSON: \"seed\" appears twice in its object");
  CHECK_THAT(ErrorOf("{\"seed\": 1"), Contains("incomplete JSON"));
  CHECK_THAT(ErrorOf(""), Contains("incomplete JSON"));
}

TEST_CASE("fields that do not go together are refused", "[scenario_json]") {
  CHECK(ErrorOf(R"({"duration_s": 2, "warmup_s": 2})") ==
        R"("warmup_s" is 2; it must be less than "duration_s", 2)");
  CHECK_THAT(ErrorOf(R"({"steps": [{"at_s": 1}]})"), Contains("\"steps[0]\" changes nothing"));
  CHECK_THAT(ErrorOf(R"({"steps": [{"at_s": 1, "clients": 2, "store_speed": 2}]})"),
             Contains("\"steps[0]\" changes 2 things"));
  CHECK_THAT(ErrorOf(R"({"steps": [{"at_s": 2, "clients": 2}, {"at_s": 1, "clients": 3}]})"),
             Contains("\"steps[1].at_s\" is 1, before"));
  CHECK_THAT(ErrorOf(R"({"steps": [{"at_s": 10, "clients": 2}]})"),
             Contains("must be before \"duration_s\", 10"));
  CHECK_THAT(ErrorOf(R"({"clients": {"arrivals": "mmpp", "burst_share": 0.5}})"),
             Contains("\"clients.burst_factor\" x \"clients.burst_share\" is 2"));
  CHECK_THAT(ErrorOf(R"({"clients": {"arrivals": "recorded"}})"), Contains("\"clients.trace_s\""));
  CHECK_THAT(ErrorOf(R"({"clients": {"arrivals": "recorded", "trace_s": [2, 1]}})"),
             Contains("\"clients.trace_s[1]\" is before"));
  CHECK_THAT(ErrorOf(R"({"clients": {"arrivals": "closed"},
                         "steps": [{"at_s": 1, "total_rate_per_s": 2}]})"),
             Contains("\"steps[0]\" changes a rate") && Contains("poisson, mmpp or on_off"));
}

TEST_CASE("fields that another field must allow are refused without it", "[scenario_json]") {
  CHECK_THAT(ErrorOf(R"({"store": {"token_burst": 5}})"), Contains("need \"store.tokens_per_s\""));
  CHECK_THAT(ErrorOf(R"({"store": {"tokens_per_batch": 5}})"),
             Contains("need \"store.tokens_per_s\""));
  CHECK_THAT(ErrorOf(R"({"store": {"client_per_item_us": 5}})"),
             Contains("need \"store.kind\" shared_processors"));
  CHECK_THAT(ErrorOf(R"({"clients": {"start_spread_s": 10}})"),
             Contains("\"clients.start_spread_s\" is 10; it must be less than \"duration_s\", 10"));
  CHECK_THAT(ErrorOf(R"({"clients": {"start_spread_s": 1}, "steps": [{"at_s": 2, "clients": 3}]})"),
             Contains("\"steps[0]\" changes the number of clients while they start"));
  CHECK(ErrorOf(R"({"clients": {"arrivals": "on_off"},
                    "steps": [{"at_s": 1, "total_rate_per_s": 2}]})") == "none");
  CHECK_THAT(
      ErrorOf(R"({"clients": {"heavy_share": 1}})"),
      Contains("\"clients.heavy_share\" is 1; it must be a number of at least 0 and below 1"));
  CHECK_THAT(ErrorOf(R"({"clients": {"on_ms": 0}})"), Contains("\"clients.on_ms\" is 0"));
  CHECK_THAT(ErrorOf(R"({"clients": {"off_ms": -1}})"), Contains("\"clients.off_ms\" is -1"));
  CHECK_THAT(ErrorOf(R"({"store": {"tokens_per_s": -1}})"),
             Contains("\"store.tokens_per_s\" is -1"));
}

TEST_CASE("a recording takes the place of arrivals, and its length is the duration",
          "[scenario_json]") {
  auto recording = std::make_shared<Recording>();
  for (int i = 0; i < 100; ++i) recording->changes.push_back({.at = std::chrono::seconds(i)});
  const auto read = [&](const char* text) { return ReadScenario(text, recording); };
  const Scenario scenario = read(R"({"warmup_s": 20, "clients": {"arrivals": "closed"}})").value();
  CHECK(scenario.duration_s == 100);
  CHECK(scenario.clients.arrivals == ClientSpec::Arrivals::kRecorded);
  CHECK(scenario.clients.recording == recording);
  CHECK(read(R"({"duration_s": 30})").value().duration_s == 30);
  CHECK_THAT(read(R"({"warmup_s": 100})").error().what, Contains("\"duration_s\", 100"));
  CHECK_THAT(read(R"({"steps": [{"at_s": 1, "total_rate_per_s": 2}]})").error().what,
             Contains("without a recording"));

  Scenario made_in_code = scenario;
  CHECK_FALSE(Validate(made_in_code));
  made_in_code.duration_s = Scenario().duration_s;
  made_in_code.warmup_s = made_in_code.duration_s + 1;
  CHECK_THAT(Validate(made_in_code).value().what, Contains("\"duration_s\""));
  made_in_code = scenario;
  made_in_code.clients.start_spread_s = 1;
  CHECK_THAT(Validate(made_in_code).value().what, Contains("must be 0 with a recording"));
}

TEST_CASE("a world that no memory holds is refused", "[scenario_json]") {
  CHECK_THAT(ErrorOf(R"({"keys": {"count": 1000000000, "zipf": 1}})"), Contains("\"keys.count\""));
  CHECK_THAT(ErrorOf(R"({"store": {"kind": "partitioned", "partitions": 100},
                         "clients": {"count": 9, "lanes": "per_partition"},
                         "steps": [{"at_s": 1, "clients": 900}]})"),
             Contains("900 clients with 100 lanes each"));
  CHECK(ErrorOf(R"({"store": {"kind": "fifo", "partitions": 100},
                    "clients": {"count": 900, "lanes": "per_partition"}})") == "none");
  CHECK_THAT(ErrorOf(R"({"clients": {"arrivals": "closed", "count": 1000,
                                     "outstanding": 1000000}})"),
             Contains("1000000 callers each"));
}

TEST_CASE("a scenario made in code is checked like one from a file", "[scenario_json]") {
  CHECK_FALSE(Validate({}));
  REQUIRE(Validate({.store = {.workers = 0}}));
  CHECK_THAT(Validate({.store = {.workers = 0}})->what, Contains("\"store.workers\" is 0"));
}

TEST_CASE("the readers know every field of the structs", "[scenario_json]") {
  // Counted by the compiler: a field that was added to a struct and to no table is missed here.
  const json::value schema = ScenarioSchema();
  const json::value& fields = schema.at("properties");
  CHECK(Properties(schema) == boost::pfr::tuple_size_v<Scenario>);
  CHECK(Properties(fields.at("store")) == boost::pfr::tuple_size_v<StoreSpec>);
  CHECK(Properties(fields.at("clients")) == kClientFields);
  CHECK(Properties(fields.at("keys")) == boost::pfr::tuple_size_v<KeySpec>);
  CHECK(Properties(fields.at("steps").at("items")) == boost::pfr::tuple_size_v<Step>);

  const json::value grid = GridSchema();
  CHECK(Properties(grid) == boost::pfr::tuple_size_v<Grid>);
  CHECK(Properties(grid.at("properties").at("stores").at("items")) ==
        boost::pfr::tuple_size_v<StoreModel>);
  CHECK(Properties(grid.at("properties").at("variants").at("items")) ==
        boost::pfr::tuple_size_v<Variant>);

  const json::value result = ResultSchema();
  CHECK(Properties(result) == boost::pfr::tuple_size_v<Result>);
  CHECK(Properties(result.at("properties").at("write_latency_ms")) ==
        boost::pfr::tuple_size_v<LatencySummary>);
  CHECK(Properties(result.at("properties").at("timeline").at("items")) ==
        boost::pfr::tuple_size_v<Slice>);
}

TEST_CASE("the schemas and tables in docs/ are those of the readers", "[scenario_json]") {
  // Remedy: stout-sim schema scenario > docs/scenario.schema.json, the same for grid, and the
  // output of `stout-sim schema KIND --table` in docs/SIMULATION.md.
  CHECK(SourceFile("docs/scenario.schema.json") == JsonText(ScenarioSchema()));
  CHECK(SourceFile("docs/grid.schema.json") == JsonText(GridSchema()));
  const std::string manual = SourceFile("docs/SIMULATION.md");
  CHECK_THAT(manual, Contains(FieldTable(ScenarioSchema())));
  CHECK_THAT(manual, Contains(FieldTable(GridSchema())));
  CHECK_THAT(manual, Contains(FieldTable(ResultSchema())));
}

TEST_CASE("the schema has what the reader refuses", "[scenario_json]") {
  const json::value schema = ScenarioSchema();
  const json::value& fields = schema.at("properties");
  CHECK(schema.at("additionalProperties") == false);
  CHECK(fields.at("duration_s") ==
        json::value{{"type", "number"},
                    {"exclusiveMinimum", 0},
                    {"maximum", 1'000'000},
                    {"default", 10},
                    {"description", "simulated time, warm-up included"}});
  CHECK(fields.at("store").at("properties").at("kind").at("enum") ==
        json::array{"fifo", "workers", "partitioned", "group_commit", "shared_processors"});
  CHECK(fields.at("steps").at("items").at("oneOf").as_array().size() == 3);
}

TEST_CASE("every scenario and grid of the project can be read", "[scenario_json]") {
  int files = 0;
  for (const char* const folder : {"scenarios", "grids"}) {
    const auto path = std::filesystem::path(STOUT_SOURCE_DIR) / "sim" / folder;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() != ".json") continue;
      const std::string text =
          SourceFile(std::string("sim/") + folder + "/" + entry.path().filename().string());
      CAPTURE(entry.path());
      CHECK((entry.path().parent_path().filename() == "grids" ? GridErrorOf(text)
                                                              : ErrorOf(text)) == "none");
      ++files;
    }
  }
  CHECK(files >= 10);
}

TEST_CASE("a result comes back as it was written", "[result_json]") {
  Result result{
      .scenario = "s",
      .policy = "fixed:20ms",
      .seed = 7,
      .measured_s = 8,
      .write_latency_ms = {.mean = 1.25, .p50 = 1, .p90 = 2, .p99 = 0.333333333333, .max = 4},
      .reply_latency_ms = {.mean = 5, .p50 = 6, .p90 = 7, .p99 = 8, .max = 9},
      .offered_per_s = 1000.5,
      .completed_per_s = 999,
      .written_per_s = 500,
      .batch_items = 2.5,
      .batches_per_s = 200,
      .interval_ms = 5,
      .store_latency_ms = 3,
      .store_utilisation = 0.5,
      .retries = 1,
      .drops = 2,
      .refused = 3,
      .expired = 4,
      .pending = 5,
      .jain_throughput = 0.99,
      .jain_latency = 0.98,
      .jain_batches = 0.97,
      .stable = false,
      .timeline = {{.at_s = 1,
                    .offered_per_s = 2,
                    .completed_per_s = 3,
                    .write_mean_ms = 4,
                    .write_p99_ms = 5,
                    .batch_items = 6,
                    .batches_per_s = 7,
                    .interval_ms = 8,
                    .regime = "paced",
                    .reason = "queue"},
                   {}},
      .digest = 0xfedcba9876543210};
  json::object object = ResultToJson(result);
  CHECK(object.at("digest") == "fedcba9876543210");
  CHECK(object.at("write_latency_ms").at("p50") == 1);
  CHECK(ResultFromJson(ParseJson(JsonText(object)).value()).value() == result);

  object["chosen_ms"] = 3;  // tools add what they know
  CHECK(ResultFromJson(object).value() == result);
  object["digest"] = "xyz";
  CHECK(ResultFromJson(object).error().what ==
        R"("digest" is "xyz"; it must be hexadecimal digits)");
}

TEST_CASE("JSON is laid out for people", "[json_text]") {
  CHECK(JsonText({{"a", 1}, {"b", {2.5, "x\n", NAN}}}) ==
        "{\"a\": 1, \"b\": [2.5, \"x\\n\", null]}\n");
  const json::array numbers(60, 7);
  const std::string text = JsonText({{"n", numbers}});
  CHECK_THAT(text, Catch::StartsWith("{\n  \"n\": [\n    7,\n    7,\n"));
  CHECK(ParseJson(text).value().at("n") == numbers);
  CHECK_THAT(JsonText({{"n", numbers}}, 1), Catch::StartsWith("{\n  \"n\": [7, 7, "));
}

TEST_CASE("a grid that cannot be is refused", "[grid]") {
  const std::string rest = R"("client_counts": [1], "loads_percent": [50])";
  CHECK_THAT(GridErrorOf("{}"), Contains("\"stores\" is empty"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "a"}]})"), Contains("\"client_counts\""));
  CHECK_THAT(GridErrorOf(R"({"stores": [{}], )" + rest + "}"),
             Contains("\"stores[0].name\" is missing"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "a"}, {"name": "a"}], )" + rest + "}"),
             Contains("another store's"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "stores": ["bsae"]}]})"),
             Contains("not in \"stores\"; did you mean \"base\"?"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "clients": {"count": 3}}]})"),
             Contains("client_counts"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "clients": {"think_us": 5}}]})"),
             Contains("client_counts"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "clients": {"arrivals": "recorded"}}]})"),
             Contains("must not be recorded"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "steps": [{"at_share": 1}]}]})"),
             Contains("\"variants[0].steps[0].at_share\" is 1; it must be a number of at least 0"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "base"}], )" + rest +
                         R"(, "variants": [{"name": "v", "steps": [{"at_share": 0.5}]}]})"),
             Contains("\"steps[0]\" changes nothing"));
  CHECK_THAT(GridErrorOf(R"({"seeds": 0, "stores": [{"name": "a"}], )" + rest + "}"),
             Contains("\"seeds\" is 0; it must be an integer of at least 1"));
  CHECK_THAT(GridErrorOf(R"({"stores": [{"name": "a"}], "loads_percent": [120],
                             "client_counts": [1]})"),
             Contains("\"loads_percent[0]\" is 120"));
}

}  // namespace stout::sim
