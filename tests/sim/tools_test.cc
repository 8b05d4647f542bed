// The oracle against queueing theory, sweeps, plots, and the commands with their exit statuses and
// messages.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stout/core/policy/basic.h"
#include "stout/sim/command_line.h"
#include "stout/sim/grid.h"
#include "stout/sim/oracle.h"
#include "stout/sim/plot.h"
#include "stout/sim/regret.h"
#include "stout/sim/result_json.h"
#include "stout/sim/scenario_json.h"
#include "stout/sim/sweep.h"
#include "tests/sim/two_points.h"
#include "tests/support/catch.h"
#include "tests/support/packed.h"
#include "tests/support/rounds.h"
#include "tools/parallel.h"
#include "tools/spaced.h"

namespace stout::sim {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Catch::Contains;
using namespace std::chrono_literals;

/// A directory of its own for a test.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "stout-sim-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The name of a file in it, written if there is a text.
  [[nodiscard]] std::string File(const std::string& name, const std::string& text = "") const {
    const fs::path file = path_ / name;
    if (!text.empty()) std::ofstream(file) << text;
    return file.string();
  }

 private:
  fs::path path_;
};

std::string TextOf(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Output {
  int status = 0;
  std::string out, err;
};

/// Runs the program's commands in this process.
Output Command(std::vector<std::string> words) {
  const auto open = [] {
    return std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::tmpfile(), std::fclose);
  };
  const auto text_of = [](std::FILE* file) {
    std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
    std::rewind(file);
    REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
    return text;
  };
  const auto out = open();
  const auto err = open();
  std::vector<const char*> argv = {"stout-sim"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  Tool tool;
  tool.out = out.get();
  tool.err = err.get();
  const int status = RunCommandLine(static_cast<int>(argv.size()), argv.data(), tool);
  return {status, text_of(out.get()), text_of(err.get())};
}

/// A store that serves an item in 1.1 ms, at 45 % of what it could carry in perfect batches.
constexpr const char* kTiny = R"({
  "duration_s": 2, "warmup_s": 0.5, "clients": {"count": 4, "total_rate_per_s": 4500}
})";

}  // namespace

// --- The oracle ----------------------------------------------------------------------------------

TEST_CASE("the best interval of one server is where theory puts it", "[oracle][not_tsan]") {
  // One client in a cycle T: n = 1 + rate T items take a + b n, so T >= (a + b) / (1 - rate b). The
  // noise of n keeps the best T a little above.
  const Scenario scenario{
      .duration_s = 12, .warmup_s = 2, .clients = {.count = 1, .total_rate_per_s = 4500}};
  const double least_ms = 1.1 / (1 - 0.45);
  const Best best = BestFixedInterval(scenario);
  CHECK(best.chosen_ms > 0.8 * least_ms);
  CHECK(best.chosen_ms < 1.6 * least_ms);
  CHECK(best.result.stable);
  CHECK(best.result.measured_s == Approx(10));
  CHECK(best.trials.size() <= 14);
  CHECK(std::abs(std::log(TheoreticalIntervalMs(scenario) / best.chosen_ms)) < std::log(2));

  // No neighbour is better.
  for (const double factor : {0.7, 1.4}) {
    const Duration interval(std::llround(best.chosen_ms * factor * 1e6));
    CHECK(Simulate(scenario, Fixed{interval}).write_latency_ms.mean >
          best.result.write_latency_ms.mean);
  }
}

TEST_CASE("the best interval of many servers follows the square root law", "[oracle][not_tsan]") {
  // At the optimum of M/D/1 the store's utilisation is near 1 - (1-rho) / sqrt(N (1-rho)). Natural
  // batching, whose queue holds a batch of every server, is twice as slow.
  const Scenario scenario{
      .duration_s = 12, .warmup_s = 4, .clients = {.count = 32, .total_rate_per_s = 6000}};
  const Best interval = BestFixedInterval(scenario);
  const double utilisation = 1 - 0.4 / std::sqrt(32 * 0.4);
  CHECK(interval.result.store_utilisation > utilisation - 0.05);
  CHECK(interval.result.stable);
  const double natural = Simulate(scenario, Natural{}).write_latency_ms.mean;
  CHECK(natural > 1.7 * interval.result.write_latency_ms.mean);

  // Servers that pause after each answer come to stand one behind the other: better still.
  const Best gap = BestFixedGap(scenario, interval);
  CHECK(gap.result.stable);
  CHECK(gap.result.write_latency_ms.mean < interval.result.write_latency_ms.mean);
  CHECK(gap.result.policy == Gap{Duration(std::llround(gap.chosen_ms * 1e6))}.Name());
}

TEST_CASE("no neighbour of the best interval is better, however long its queue takes to settle",
          "[oracle][long]") {
  Scenario scenario;
  scenario.duration_s = 50;
  scenario.warmup_s = 20;
  scenario.store.noise_sigma = 0.7;
  scenario.clients.count = 32;
  scenario.clients.total_rate_per_s = 9200;
  const auto seeds = std::min<std::uint64_t>(test::Rounds("STOUT_SEEDS", 1), 3);
  scenario.seed = GENERATE_COPY(range<std::uint64_t>(1, 1 + seeds));
  const Best best = BestFixedInterval(scenario);
  for (const double factor : {1 / 1.19, 1.19}) {
    const Duration interval(std::llround(best.chosen_ms * 1e6 * factor));
    const Result beside = Simulate(scenario, PolicyOf([&](std::uint32_t client) {
                                     return internal::Spaced(interval, client);
                                   }));
    CHECK((!beside.stable ||
           beside.write_latency_ms.mean > 0.99 * best.result.write_latency_ms.mean));
  }
}

TEST_CASE("without a stable setting, an oracle finds one with which the store works", "[oracle]") {
  // Twice what the store carries in batches of any size.
  const Scenario scenario{
      .duration_s = 0.5, .warmup_s = 0.1, .clients = {.count = 4, .total_rate_per_s = 20'000}};
  const Best best = BestFixedInterval(scenario);
  const Best gap = BestFixedGap(scenario, best);
  for (const Best& of : {best, gap}) {
    CHECK_FALSE(of.result.stable);
    CHECK(of.result.completed_per_s > 8000);  // of 10,000
    for (const Trial& trial : of.trials) CHECK(trial.ms < 1e3 * scenario.duration_s);
  }
  const json::object object = BestToJson(best);
  CHECK(BestToJson(BestFromJson(object).value()) == object);
}

TEST_CASE("the rate of clients that have none does not shorten an oracle's trials", "[oracle]") {
  Scenario scenario{.duration_s = 0.5, .warmup_s = 0.1};
  scenario.clients.count = 4;
  scenario.clients.arrivals = ClientSpec::Arrivals::kClosed;
  const Best best = BestFixedInterval(scenario);
  scenario.clients.total_rate_per_s *= 1e6;
  CHECK(BestFixedInterval(scenario) == best);
}

TEST_CASE("an oracle that is interrupted begins no further run", "[oracle]") {
  // Each run has about a hundred events.
  const Scenario scenario{
      .duration_s = 0.5, .warmup_s = 0.1, .clients = {.count = 1, .total_rate_per_s = 50}};
  const RunLimits limits{.watch = [](TimePoint) { return false; }};
  const Best interval = BestFixedInterval(scenario, limits);
  CHECK(interval.result == Result{});
  CHECK(BestFixedGap(scenario, interval, limits).result == Result{});
}

TEST_CASE("a short run looks at its watcher", "[simulate]") {
  const Scenario scenario{
      .duration_s = 0.5, .warmup_s = 0.1, .clients = {.count = 1, .total_rate_per_s = 500}};
  const RunLimits limits{.watch = [](TimePoint now) { return now < TimePoint(250ms); }};
  CHECK(Simulate(scenario, Natural{}, limits).measured_s < 0.3);
}

// --- Sweeps and plots ----------------------------------------------------------------------------

TEST_CASE("a sweep has a run for each policy and rate, in order", "[sweep]") {
  const Scenario scenario = ReadScenario(kTiny).value();
  const Sweep sweep =
      RunSweep(scenario, {.policies = {{"natural", Natural{}}, {"unbatched", Unbatched{}}},
                          .rates_per_s = {500, 4500},
                          .jobs = 2,
                          .stop = nullptr,
                          .progress = {}});
  REQUIRE(sweep.runs.size() == 4);
  CHECK(sweep.runs[1].result.policy == "natural");
  CHECK(sweep.runs[1].rate_per_s == 4500);
  CHECK(sweep.runs[1].load_percent == Approx(45));
  CHECK(sweep.runs[1].result.stable);
  CHECK(sweep.runs[2].result.policy == "unbatched");
  CHECK(sweep.runs[2].result.stable);
  CHECK_FALSE(sweep.runs[3].result.stable);  // 4500 x 1.1 ms are more than a second
  const json::object object = SweepToJson(sweep);
  CHECK(SweepToJson(ReadSweep(JsonText(object)).value()) == object);

  const std::string script = SweepScript(sweep, "out file's.svg");
  CHECK_THAT(script, Contains("set output 'out file''s.svg'"));
  CHECK_THAT(script, Contains("title 'unbatched' noenhanced"));
}

TEST_CASE("gnuplot draws what the scripts say", "[plot]") {
  const Scratch scratch;
  const std::string out = scratch.File("plot.svg");
  Result result = Simulate(ReadScenario(kTiny).value(), Natural{});
  REQUIRE_FALSE(result.timeline.empty());
  RunGnuplot(TimelineScript({result, result}, out));
  CHECK_THAT(TextOf(out), Contains("<svg") && Contains("natural") && Contains("Write latency"));

  result.timeline.clear();
  CHECK_THROWS_WITH(TimelineScript({result}, out), Contains("no result has a timeline"));
  CHECK_THROWS_AS(RunGnuplot("this is no command\n"), PlotError);
}

TEST_CASE("a plot that cannot be written is an error, and nothing is drawn", "[plot][command]") {
  const Scratch scratch;
  const std::string result =
      scratch.File("run.json", Command({"run", scratch.File("tiny.json", kTiny), "--json"}).out);
  const std::string out = scratch.File("missing/x.svg");
  const Output plot = Command({"plot", "timeline", result, "--out", out});
  CHECK(plot.status == kFailed);
  CHECK(plot.out.empty());
  CHECK(plot.err == "stout-sim: cannot write " + out + ": No such file or directory\n");
}

// --- Commands ------------------------------------------------------------------------------------

TEST_CASE("a command that does not exist is named, with those that do", "[command]") {
  const Output unknown = Command({"foo"});
  CHECK(unknown.status == kBadOptions);
  CHECK(unknown.err ==
        "stout-sim: there is no command 'foo': use one of run oracle sweep grid replication "
        "deployment modes plot schema\n");
  CHECK(Command({"plot", "foo"}).err ==
        "stout-sim: there is no command 'foo': use one of timeline sweep grid\n");
  CHECK_THAT(Command({}).err, Contains("a command is missing: use one of run"));
}

TEST_CASE("run prints a table, or a result that reads back", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output table = Command({"run", scenario});
  CHECK(table.status == kOk);
  CHECK_THAT(table.out, Contains("tiny, policy natural, seed 1") && Contains("write latency"));
  CHECK(table.err.empty());

  const std::vector<std::string> words = {"run",    scenario, "--policy", "fixed:20ms",
                                          "--seed", "9",      "--json"};
  const Output first = Command(words);
  const Result result = ResultFromJson(ParseJson(first.out).value()).value();
  CHECK(result.scenario == "tiny");
  CHECK(result.policy == "fixed:20ms");
  CHECK(result.seed == 9);
  CHECK(result.write_latency_ms.mean > 0);
  CHECK(Command(words).out == first.out);
}

/// 1,000 changes in 10 ms, of one key or of 1,000.
std::string TenMilliseconds(bool one_key) {
  std::string csv = "time,key,bytes\n";
  for (int i = 0; i < 1000; ++i) {
    csv += fmt::format("{:.6f},doc/{},100\n", i / 1e5, one_key ? 0 : i);
  }
  return csv;
}

TEST_CASE("run replays a recording, and changes of one key are written together", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File(
      "once.json", R"({"warmup_s": 0, "clients": {"count": 4}, "keys": {"count": 1}})");
  const std::string one_key = scratch.File("one.csv", TenMilliseconds(true));
  const std::string many_keys = scratch.File("many.csv", TenMilliseconds(false));
  const std::string policy = GENERATE("natural", "adaptive", "unbatched");
  CAPTURE(policy);
  const auto run = [&](const std::string& trace) {
    return Command({"run", scenario, "--policy", policy, "--trace", trace, "--json"});
  };
  const Result one = ResultFromJson(ParseJson(run(one_key).out).value()).value();
  CHECK(one.measured_s == Approx(0.01));
  CHECK(one.offered_per_s * one.measured_s == Approx(1000));
  // At most one batch is under way for a key. It takes 1.6 ms.
  CHECK(one.written_per_s * one.measured_s < 8);
  const Result many = ResultFromJson(ParseJson(run(many_keys).out).value()).value();
  CHECK(many.batches_per_s * many.measured_s * many.batch_items > 100);
  const std::string packed = scratch.File("many.csv.gz", test::Gzip(TenMilliseconds(false)));
  CHECK(run(packed).out == run(many_keys).out);
}

TEST_CASE("what is wrong with a recording is told with its name and line", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const auto error = [&](const std::string& trace) {
    const Output output = Command({"run", scenario, "--trace", trace});
    CHECK(output.status == kFailed);
    return output.err;
  };
  CHECK(error("nothing.csv") == "stout-sim: cannot read nothing.csv: No such file or directory\n");
  CHECK_THAT(error(fs::temp_directory_path().string()), Contains("it is a directory"));
  const std::string wrong = scratch.File("wrong.csv", "time,key,bytes\n0,a,1\nx,a,1\n");
  CHECK_THAT(error(wrong), Contains(wrong + ": line 3: the time is \"x\""));
}

TEST_CASE("what is wrong with a file is told with its name", "[command]") {
  const Scratch scratch;
  const Output missing = Command({"run", "nothing.json"});
  CHECK(missing.status == kFailed);
  CHECK(missing.err == "stout-sim: cannot read nothing.json: No such file or directory\n");

  const std::string broken = scratch.File("broken.json", "{\n  \"seed\": 1,,\n}");
  const Output syntax = Command({"run", broken});
  CHECK(syntax.status == kFailed);
  CHECK(syntax.err == "stout-sim: " + broken + ": line 2, column 13 of the JSON: syntax error\n");

  const std::string unknown = scratch.File("unknown.json", R"({"stor": {}})");
  CHECK_THAT(Command({"oracle", unknown}).err,
             Contains(unknown + ": \"stor\" is unknown; did you mean \"store\"?"));
  CHECK(Command({"grid", unknown, "--list"}).status == kFailed);

  const std::string policy = scratch.File("policy.json", R"({"policy": "adaptve"})");
  const Output of_file = Command({"run", policy});
  CHECK(of_file.status == kFailed);
  CHECK_THAT(of_file.err, Contains(policy + ": \"policy\":") && Contains("natural"));

  const Output directory = Command({"run", fs::temp_directory_path().string()});
  CHECK(directory.status == kFailed);
  CHECK_THAT(directory.err, Contains("it is a directory"));
}

TEST_CASE("a wrong command line is told with what there is", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output policy = Command({"run", scenario, "--policy", "adaptve"});
  CHECK(policy.status == kBadOptions);
  CHECK_THAT(policy.err, Contains("--policy") && Contains("adaptve") && Contains("natural"));
  CHECK(Command({}).status == kBadOptions);
  CHECK(Command({"walk"}).status == kBadOptions);
  CHECK(Command({"run"}).status == kBadOptions);
  CHECK(Command({"run", scenario, "--jsno"}).status == kBadOptions);
  CHECK(Command({"sweep", scenario, "--policy", "natural"}).status == kBadOptions);
  CHECK(Command({"schema", "sonnet"}).status == kBadOptions);
  CHECK(Command({"replication", "--members", "0"}).status == kBadOptions);
  CHECK(Command({"replication", "--durable", "--memory"}).status == kBadOptions);
  for (const char* const option : {"--loads", "--reads", "--seconds"}) {
    CAPTURE(option);
    const Output nan = Command({"replication", option, "nan"});
    CHECK(nan.status == kBadOptions);
    CHECK_THAT(nan.err, Contains(option) && Contains("'nan' is not a number from"));
  }
  const Output seed = Command({"run", scenario, "--seed", "-1"});
  CHECK(seed.status == kBadOptions);
  CHECK_THAT(seed.err, Contains("--seed") && Contains("-1"));
  for (const char* const rate : {"nan", "inf", "0", "-1", "1e30"}) {
    CAPTURE(rate);
    const Output rates = Command({"sweep", scenario, "--policy", "natural", "--rates", rate});
    CHECK(rates.status == kBadOptions);
    CHECK_THAT(rates.err, Contains("--rates"));
    const Output loads = Command({"sweep", scenario, "--policy", "natural", "--loads", rate});
    CHECK(loads.status == kBadOptions);
  }

  const Output help = Command({"--help"});
  CHECK(help.status == kOk);
  for (const char* const command :
       {"run", "oracle", "sweep", "grid", "replication", "plot", "schema"}) {
    CHECK_THAT(help.out, Contains(command));
  }
}

TEST_CASE("replication compares its designs, and writes the same file for a seed",
          "[command][not_tsan]") {
  const Scratch scratch;
  const std::string file = scratch.File("replication.json");
  const std::vector<std::string> words = {"replication", "--memory", "--loads", "5",
                                          "--seconds",   "0.02",     "--json",  file};
  const Output output = Command(words);
  REQUIRE(output.status == kOk);
  CHECK_THAT(output.out, Contains("chain") && Contains("parallel") && Contains("unbatched"));
  const std::string text = TextOf(file);
  const json::value value = ParseJson(text).value();
  const json::array& results = value.at("results").as_array();
  REQUIRE(results.size() == 5);  // the plain chain, and two policies for each design
  for (const json::value& result : results) {
    CHECK(result.at("sustained_writes_per_s").to_number<double>() > 5000);
    CHECK(result.at("runs").as_array().at(0).at("stable").as_bool());
  }
  REQUIRE(Command(words).status == kOk);
  CHECK(TextOf(file) == text);
}

TEST_CASE("modes runs the modes that it is given, and writes the same file for a seed",
          "[command]") {
  const Scratch scratch;
  const std::string file = scratch.File("modes.json");
  const std::vector<std::string> words = {
      "modes",  "--mode",    "ms+sc,aa+ec", "--nodes", "3,5",    "--ranges", "8",
      "--zipf", "0",         "--keys",      "1000",    "--gets", "50",       "--clients",
      "2",      "--seconds", "0.01",        "--json",  file};
  const Output output = Command(words);
  REQUIRE(output.status == kOk);
  CHECK_THAT(output.out, Contains("ms+sc") && Contains("aa+ec") && !Contains("ms+ec"));
  const std::string text = TextOf(file);
  CHECK(ParseJson(text).value().at("results").as_array().size() == 4);
  REQUIRE(Command(words).status == kOk);
  CHECK(TextOf(file) == text);
  const Output large = Command({"modes", "--nodes", "100", "--ranges", "1000"});
  CHECK(large.status == kBadOptions);
  CHECK_THAT(large.err, Contains("aa+ec: --nodes times --ranges"));
}

TEST_CASE("oracle prints both best settings as whole results", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const Output output = Command({"oracle", scenario, "--json"});
  REQUIRE(output.status == kOk);
  const json::value value = ParseJson(output.out).value();
  const Best interval = BestFromJson(value.at("best_interval")).value();
  CHECK(interval.chosen_ms > 0);
  CHECK(interval.result.policy == Fixed{Duration(std::llround(interval.chosen_ms * 1e6))}.Name());
  CHECK(BestFromJson(value.at("best_gap")).value().result.write_latency_ms.p99 > 0);
  CHECK_THAT(Command({"oracle", scenario}).out, Contains("interval") && Contains("gap"));
}

TEST_CASE("grid keeps its results, resumes, and is plotted", "[command]") {
  const Scratch scratch;
  const std::string grid = scratch.File("two.json", kTwoPoints);
  const std::string out = scratch.File("out.json");
  const Output run = Command({"grid", grid, "--policy", "natural", "--json", out, "--jobs", "2"});
  CHECK(run.status == kOk);
  CHECK_THAT(run.out, Contains("natural") && Contains("family fifo"));
  CHECK_THAT(run.out, Contains("1 of 2 points are shorter than 60 round trips"));
  const std::string first = TextOf(out);
  CHECK(ReadGridFile(first).value().grid == "two");

  CHECK(Command({"grid", grid, "--policy", "natural", "--json", out, "--resume"}).status == kOk);
  CHECK(TextOf(out) == first);
  const Output anew = Command({"grid", grid, "--only", "N4", "--without-oracle", "--json", out});
  CHECK(anew.status == kOk);
  CHECK_THAT(anew.err, Contains("without --resume"));
  CHECK(TextOf(out + "~") == first);
  fs::rename(out + "~", out);
  const std::string part = scratch.File("part.json", first);
  CHECK(Command({"grid", grid, "--policy", "gap:10ms", "--json", part, "--resume", "--only", "N4"})
            .status == kOk);
  const GridFile all = ReadGridFile(first).value();
  const GridFile resumed = ReadGridFile(TextOf(part)).value();
  CHECK(resumed.policies == std::vector<std::string>{"gap:10ms", "natural"});
  REQUIRE(resumed.points.size() == 2);
  CHECK(resumed.points[0].policies.contains("gap:10ms"));
  CHECK(resumed.points[0].policies.contains("natural"));
  CHECK(resumed.points[1] == all.points[1]);  // --only N4 leaves it alone

  const std::string other = scratch.File("other.json", kTwoPoints);
  const Output mixed = Command({"grid", other, "--policy", "natural", "--json", part, "--resume"});
  CHECK(mixed.status == kBadOptions);
  CHECK_THAT(mixed.err, Contains("has results of grid \"two\", not of \"other\""));
  std::string edited = kTwoPoints;
  edited.replace(edited.find("\"warmup_round_trips\": 20"), 24,
                 "\"name\": \"two\", \"warmup_round_trips\": 10");
  const std::string later = scratch.File("later.json", edited);
  CHECK(Command({"grid", later, "--policy", "natural", "--json", part, "--resume", "--only", "N4"})
            .status == kOk);
  CHECK(ReadGridFile(TextOf(part)).value().points.size() == 1);  // N16 was run before the edit
  CHECK(Command({"grid", grid, "--policy", "gap:10ms", "--baseline", out, "--only", "N4"}).status ==
        kOk);

  const Output quick = Command({"grid", grid, "--policy", "natural", "--without-oracle"});
  CHECK(quick.status == kOk);
  CHECK_THAT(quick.out, Contains("family fifo") && !Contains("best interval"));

  const Output seeds = Command({"grid", grid, "--policy", "natural", "--without-oracle", "--only",
                                "N4", "--seeds", "3", "--json", "-"});
  CHECK(seeds.status == kOk);
  CHECK(ReadGridFile(seeds.out).value().points.at(0).point.seeds == 3);
  CHECK(Command({"grid", grid, "--seeds", "0"}).status == kBadOptions);

  CHECK_THAT(Command({"grid", grid, "--list"}).out, Contains("base/N16/45%"));
  const Output scenario = Command({"grid", grid, "--print-scenario", "base/N4/45%"});
  CHECK(ReadScenario(scenario.out).value() == Expand(ReadGrid(kTwoPoints).value())[0].scenario);
  const Output typo = Command({"grid", grid, "--print-scenario", "base/N44/45%"});
  CHECK(typo.status == kBadOptions);
  CHECK_THAT(typo.err, Contains("did you mean \"base/N4/45%\"?"));
  CHECK(Command({"grid", grid, "--list", "--only", "nowhere"}).status == kBadOptions);
  CHECK(Command({"grid", grid, "--resume"}).status == kBadOptions);
  const Output unseen = Command({"grid", grid});
  CHECK(unseen.status == kBadOptions);
  CHECK_THAT(unseen.err, Contains("--policy, --json, --list or --print-scenario"));
  const Output nowhere = Command({"grid", grid, "--json", "-", "--resume"});
  CHECK(nowhere.status == kBadOptions);
  CHECK_THAT(nowhere.err, Contains("--resume needs a file"));

  const std::string svg = scratch.File("regret.svg");
  CHECK(Command({"plot", "grid", out, "--out", svg}).status == kOk);
  CHECK_THAT(TextOf(svg), Contains("<svg"));
  const Output wrong = Command({"plot", "sweep", out, "--out", svg});
  CHECK(wrong.status == kFailed);
  CHECK_THAT(wrong.err, Contains("stout-sim sweep --json"));
}

TEST_CASE("a sweep of rates needs clients that have one", "[command]") {
  const Scratch scratch;
  const std::string closed = scratch.File("c.json", R"({"clients": {"arrivals": "closed"}})");
  const Output output = Command({"sweep", closed, "--policy", "natural", "--rates", "100,200"});
  CHECK(output.status == kFailed);
  CHECK_THAT(output.err, Contains(closed) && Contains("\"clients.arrivals\" is \"closed\""));
  CHECK_THAT(output.err, Contains("poisson, mmpp or on_off"));
  const std::string reads = scratch.File("r.json", R"({"clients": {"read_fraction": 1}})");
  CHECK_THAT(Command({"sweep", reads, "--policy", "natural", "--rates", "100"}).err,
             Contains(reads) && Contains("\"clients.read_fraction\" is 1"));
}

TEST_CASE("numbers below the normal ones of a double do not end the program", "[command]") {
  const Scratch scratch;
  const std::string scenario =
      scratch.File("s.json", R"({"duration_s": 0.1, "warmup_s": 0, "keys": {"zipf": 1e-310}})");
  CHECK(Command({"sweep", scenario, "--policy", "natural", "--loads", "1"}).status == kOk);
  const std::string grid = scratch.File("g.json", R"({"stores": [{"name": "base"}],
      "client_counts": [4], "loads_percent": [1e-320]})");
  CHECK_THAT(Command({"grid", grid, "--list"}).err, Contains("point base/N4/"));
}

TEST_CASE("output that cannot be written is told", "[command]") {
  const Scratch scratch;
  const std::string scenario = scratch.File("tiny.json", kTiny);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> err(std::tmpfile(), std::fclose);
  const std::vector<const char*> plain = {"stout-sim", "run", scenario.c_str()};
  const std::vector<const char*> as_json = {"stout-sim", "run", scenario.c_str(), "--json"};
  for (const auto& words : {plain, as_json}) {  // short and buffered, and long
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"),
                                                               std::fclose);
    Tool tool;
    tool.out = full.get();
    tool.err = err.get();
    CHECK(RunCommandLine(static_cast<int>(words.size()), words.data(), tool) == kFailed);
  }
  CHECK(std::ftell(err.get()) > 0);
}

TEST_CASE("a file of results replaces files, and nothing else", "[command]") {
  const Scratch scratch;
  const std::string grid = scratch.File("two.json", kTwoPoints);
  const std::string pipe = scratch.File("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::fstream both(pipe, std::ios::in | std::ios::out);  // otherwise opening it would wait
  REQUIRE(both);
  CHECK(Command({"grid", grid, "--only", "N4", "--json", pipe}).status == kOk);
  CHECK(fs::is_fifo(pipe));
  CHECK_FALSE(fs::exists(pipe + ".tmp"));

  const std::string taken = scratch.File("taken");
  fs::create_directories(taken + "/by");
  CHECK(Command({"grid", grid, "--only", "N4", "--json", taken}).status == kFailed);
  CHECK_FALSE(fs::exists(taken + ".tmp"));
}

TEST_CASE("a failure while jobs run ends them", "[parallel]") {
  std::atomic<int> begun{0};
  const auto job = [&](std::size_t) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const auto fail = [] { throw std::runtime_error("the disk is full"); };
  CHECK_THROWS_AS(internal::RunJobs(1000, 2, job, fail), std::runtime_error);
  CHECK(begun < 200);
}

TEST_CASE("a job that fails ends the jobs, and is reported", "[parallel]") {
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
  const auto job = [&](std::size_t index) {
    ++begun;
    if (index == 10) throw std::bad_alloc();
    ++done;
  };
  CHECK_THROWS_AS(internal::RunJobs(1'000'000, 2, job, [] {}), std::bad_alloc);
  CHECK(done == begun - 1);
  CHECK(begun < 1'000'000);
}

TEST_CASE("names with line ends do not end a line of the script", "[plot]") {
  Result result;
  result.policy = "natural'\nset output '/dev/null";
  result.timeline = {{.at_s = 0, .completed_per_s = 1, .write_mean_ms = 1, .write_p99_ms = 1}};
  CHECK_THAT(TimelineScript({result}, "x.svg"), !Contains("\nset output '/dev/null"));
}

TEST_CASE("without gnuplot, plot says what to install", "[command]") {
  const Scratch scratch;
  const std::string result =
      scratch.File("r.json", Command({"run", scratch.File("t.json", kTiny), "--json"}).out);
  const std::string path = std::getenv("PATH");
  setenv("PATH", scratch.File("").c_str(), 1);
  const Output output = Command({"plot", "timeline", result, "--out", scratch.File("t.svg")});
  setenv("PATH", path.c_str(), 1);
  CHECK(output.status == kFailed);
  CHECK_THAT(output.err, Contains("gnuplot-nox"));
}

}  // namespace stout::sim
