#include "stout/sim/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "commands.h"
#include "program/command_line.h"
#include "program/interrupt.h"
#include "program/options.h"
#include "stout/sim/plot.h"

namespace stout::sim {
namespace internal {
namespace {

constexpr const char* kDescription =
    "Simulates application servers that share a store. Each runs the engine of a real server. "
    "Compares policies for when to send a batch.";

constexpr const char* kFooter =
    "Scenario, grid and result files are described in docs/SIMULATION.md.\n"
    "Exit codes: 0 done; 1 a file cannot be read or written, or has wrong content; 2 wrong "
    "options; 130 interrupted.";

unsigned AllCores() { return std::max(1U, std::thread::hardware_concurrency()); }

/// The options of every command; parsing fills in one of them.
class Parser {
 public:
  explicit Parser(const Tool& tool) : app_(kDescription, "stout-sim") {
    app_.footer(kFooter);
    program::AddVersion(app_);
    app_.require_subcommand(1);
    AddRun(tool);
    AddOracle();
    AddSweep(tool);
    AddGrid(tool);
    AddReplication(tool);
    AddDeployment();
    AddModes();
    AddPlot();
    AddSchema();
  }

  /// Throws CLI::ParseError.
  Command Parse(int argc, const char* const* argv) {
    app_.parse(argc, argv);
    return command_;
  }

  [[nodiscard]] const CLI::App& app() const { return app_; }

  /// Returns the problem if a command, or one of `plot`, is missing or unknown; otherwise "".
  [[nodiscard]] std::string WhyNoCommand() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    if (app->get_require_subcommand_min() == 0) return "";
    std::string names;
    for (const CLI::App* const each : app->get_subcommands(nullptr))
      names += " " + each->get_name();
    const std::vector<std::string> words = app->remaining();
    return fmt::format("{}: use one of{}",
                       words.empty() ? std::string("a command is missing")
                                     : fmt::format("there is no command '{}'", words.front()),
                       names);
  }

 private:
  template <typename Options>
  CLI::App& Add(const std::string& name, const std::string& help, const Options& options) {
    CLI::App* const command = app_.add_subcommand(name, help);
    command->callback([this, &options] { command_ = options; });
    return *command;
  }

  static void AddScenario(CLI::App& app, std::filesystem::path& file) {
    app.add_option("scenario", file, "The scenario, JSON")->required()->type_name("SCENARIO.json");
  }
  static void AddSeed(CLI::App& app, std::optional<std::uint64_t>& seed) {
    program::Options(app).Count("--seed", seed, 0, program::kNoMax,
                                "Replaces the scenario's seed; the same seed gives the same run");
  }
  static void AddJobs(CLI::App& app, unsigned& jobs) {
    jobs = AllCores();
    program::Options(app)
        .Count("--jobs", jobs, 1, 4096, "Runs at a time")
        ->default_str("as many as cores");
  }
  static std::string PolicyHelp(const std::string& what, const Tool& tool) {
    return fmt::format("{}: {}", what, tool.policy_syntax);
  }

  void AddRun(const Tool& tool) {
    CLI::App& app = Add("run", "Run one scenario", run_);
    AddScenario(app, run_.scenario);
    app.add_option(
           "--policy", run_.policies,
           PolicyHelp("Replaces the scenario's policies. If repeated, servers take them in turn",
                      tool))
        ->allow_extra_args(false)
        ->type_name("POLICY");
    AddSeed(app, run_.seed);
    app.add_option("--trace", run_.trace,
                   "Replay recorded changes instead of the scenario's arrivals and keys: CSV with "
                   "the header time,key,bytes, plain or packed by gzip or zstd. The run is as long "
                   "as the recording. A duration_s of the scenario cuts or repeats it")
        ->type_name("FILE");
    app.add_flag("--json", run_.json, "Print the result as JSON, with a timeline");
  }

  void AddOracle() {
    CLI::App& app = Add("oracle", "Find the best fixed interval, and the best fixed gap", oracle_);
    AddScenario(app, oracle_.scenario);
    AddSeed(app, oracle_.seed);
    app.add_flag("--json", oracle_.json, "Print JSON: best_interval and best_gap");
  }

  void AddSweep(const Tool& tool) {
    CLI::App& app =
        Add("sweep", "Run one scenario at several rates under several policies", sweep_);
    AddScenario(app, sweep_.scenario);
    app.add_option("--policy", sweep_.policies, PolicyHelp("One or more", tool))
        ->required()
        ->type_name("POLICY");
    CLI::Option_group* const group = app.add_option_group("rates");
    group->require_option(1);
    group->add_option("--rates", sweep_.rates, "Changes per second of all clients")
        ->delimiter(',')
        ->type_name("RATE,...");
    group
        ->add_option("--loads", sweep_.loads,
                     "The same, in percent of the rate that perfect batching sustains")
        ->delimiter(',')
        ->type_name("PERCENT,...");
    AddJobs(app, sweep_.jobs);
    app.add_flag("--json", sweep_.json, "Print JSON, which `plot sweep` reads");
  }

  void AddGrid(const Tool& tool) {
    CLI::App& app =
        Add("grid", "Compare policies with the best fixed interval, on many stores", grid_);
    app.add_option("grid", grid_.grid, "The grid, JSON")->required()->type_name("GRID.json");
    app.add_option("--policy", grid_.policies, PolicyHelp("One or more", tool))
        ->type_name("POLICY");
    AddJobs(app, grid_.jobs);
    program::Options(app).Count(
        "--seeds", grid_.seeds, 1, 1000,
        "Runs of each point and policy, whose median counts; default: as in the grid");
    app.add_option("--only", grid_.only, "Run only points whose name contains this text")
        ->type_name("TEXT");
    auto* const json = app.add_option("--json", grid_.json_file,
                                      "Write all points to this file, from time to time and at the "
                                      "end; - is stdout. An earlier file is kept as FILE~")
                           ->type_name("FILE");
    app.add_flag("--resume", grid_.resume,
                 "Keep the results that the file of --json has of this grid, and run what it "
                 "lacks; points with another scenario or other seeds are replaced")
        ->needs(json);
    app.add_option("--baseline", grid_.baseline,
                   "Take best intervals and natural batching from this earlier --json file")
        ->type_name("FILE");
    app.add_flag("--without-oracle", grid_.without_oracle,
                 "Compare with natural batching only: do not search for the best intervals, which "
                 "takes most of the time");
    app.add_flag("--list", grid_.list, "Run nothing; print the points");
    app.add_option("--print-scenario", grid_.print_scenario,
                   "Run nothing; print the scenario of this point")
        ->type_name("POINT");
  }

  void AddReplication(const Tool& tool) {
    CLI::App& app =
        Add("replication", "Compare chain replication with parallel members", replication_);
    program::Options options(app);
    options.Count("--members", replication_.members, 1, 16, "Members of a range");
    CLI::Option* const memory =
        app.add_flag("--memory", replication_.memory, "Members in memory: a batch costs no sync");
    app.add_flag_callback(
           "--durable", [] {}, "Members on disk: a batch costs a sync (default)")
        ->excludes(memory);
    app.add_option("--policy", replication_.policies,
                   PolicyHelp("When a member gets a batch; one or more", tool))
        ->type_name("POLICY")
        ->capture_default_str();
    app.add_option("--loads", replication_.loads,
                   "Writes, in percent of the rate that perfect batching sustains")
        ->delimiter(',')
        ->check(program::NumberIn(0.1, 200))
        ->type_name("PERCENT,...")
        ->capture_default_str();
    options
        .Number("--reads", replication_.read_fraction, 0, 0.99, "Share of requests that read a key")
        ->type_name("SHARE");
    options.Number("--seconds", replication_.duration_s, 0.01, 1000, "Measured time of each run")
        ->type_name("SECONDS");
    options.Seed(replication_.seed, "The same seed gives the same runs");
    AddJobs(app, replication_.jobs);
    app.add_option("--json", replication_.json_file, "Write the results to this file; - is stdout")
        ->type_name("FILE");
  }

  void AddDeployment() {
    CLI::App& app =
        Add("deployment", "Load of the coordinator of many nodes, and times without an owner",
            deployment_);
    app.add_option("--nodes", deployment_.nodes, "Nodes, each with a datalet")
        ->delimiter(',')
        ->check(CLI::Range(2U, 1000U))
        ->type_name("COUNT,...")
        ->capture_default_str();
    app.add_option("--ranges", deployment_.ranges, "Ranges of keys")
        ->delimiter(',')
        ->check(CLI::Range(RangeId{1}, kMaxRanges))
        ->type_name("COUNT,...")
        ->capture_default_str();
    program::Options options(app);
    options.Count("--replicas", deployment_.replicas, 1, 16, "Members of a range");
    options.Number("--ttl", deployment_.ttl_s, 0.1, 60, "Life of a session, in seconds");
    options.Number("--event-us", deployment_.event_us, 0, 10'000,
                   "Work of the coordinator to tell one node of one change, in microseconds");
    AddJobs(app, deployment_.jobs);
    app.add_option("--json", deployment_.json_file, "Write the results to this file; - is stdout")
        ->type_name("FILE");
  }

  void AddModes() {
    CLI::App& app = Add("modes", "Rate of each mode by the number of nodes", modes_);
    const auto list = [&app](const std::string& name, auto& values, const CLI::Validator& check,
                             const std::string& help, const std::string& type) {
      app.add_option(name, values, help)
          ->delimiter(',')
          ->check(check)
          ->type_name(type)
          ->capture_default_str();
    };
    list("--mode", modes_.modes, CLI::IsMember(modes_.modes), "Modes", "MODE,...");
    list("--nodes", modes_.nodes, CLI::Range(1U, 100U), "Nodes, each with a datalet", "COUNT,...");
    list("--ranges", modes_.ranges, CLI::Range(RangeId{1}, RangeId{1000}), "Ranges of keys",
         "COUNT,...");
    list("--gets", modes_.gets, program::NumberIn(0, 100),
         "Requests that read a key; the others change one", "PERCENT,...");
    list("--zipf", modes_.zipf, program::NumberIn(0, 10),
         "Exponents of Zipf's law, by which keys are chosen; 0: uniformly", "NUMBER,...");
    program::Options options(app);
    options.Count("--replicas", modes_.replicas, 1, 16, "Members of a range");
    options.Count("--keys", modes_.keys, 1, 100'000'000, "Keys");
    options.Count("--clients", modes_.clients, 1, 10'000,
                  "Clients for each node. Each waits for the answer to a request");
    options.Number("--seconds", modes_.duration_s, 0.01, 1000, "Measured time of each run")
        ->type_name("SECONDS");
    options.Seed(modes_.seed, "The same seed gives the same runs");
    AddJobs(app, modes_.jobs);
    app.add_option("--json", modes_.json_file, "Write the results to this file; - is stdout")
        ->type_name("FILE");
  }

  void AddPlot() {
    CLI::App& plot = *app_.add_subcommand("plot", "Draw an SVG with gnuplot");
    plot.require_subcommand(1);
    const auto add = [&](const char* name, const char* help, PlotOptions::Kind kind) {
      CLI::App* const app = plot.add_subcommand(name, help);
      auto* const files =
          app->add_option("files", plot_.files, "Results that --json printed or wrote")
              ->required()
              ->type_name("FILE");
      if (kind != PlotOptions::Kind::kTimeline) files->expected(1);
      app->add_option("--out", plot_.output, "The picture")->required()->type_name("FILE.svg");
      app->add_flag("--script", plot_.script, "Only print the script for gnuplot");
      app->callback([this, kind] {
        plot_.kind = kind;
        command_ = plot_;
      });
    };
    add("timeline", "Rate and latency over time, from results of `run`",
        PlotOptions::Kind::kTimeline);
    add("sweep", "Latency against load, from a sweep", PlotOptions::Kind::kSweep);
    add("grid", "Regrets, from a grid", PlotOptions::Kind::kGrid);
  }

  void AddSchema() {
    CLI::App& app = Add("schema", "Print the JSON Schema of a file", schema_);
    app.add_option("of", schema_.of, "scenario, grid or result")
        ->check(CLI::IsMember({"scenario", "grid", "result"}))
        ->type_name("KIND")
        ->capture_default_str();
    app.add_flag("--table", schema_.table, "Print a Markdown table of the fields instead");
  }

  CLI::App app_;
  Command command_;
  RunOptions run_;
  OracleOptions oracle_;
  SweepCommandOptions sweep_;
  GridOptions grid_;
  PlotOptions plot_;
  ReplicationOptions replication_;
  DeploymentOptions deployment_;
  ModesOptions modes_;
  SchemaOptions schema_;
};

}  // namespace
}  // namespace internal

int RunCommandLine(int argc, const char* const* argv, const Tool& tool) {
  const program::Interrupt interrupt;
  internal::Parser parser(tool);
  const auto tell = [&](std::string_view what) {
    std::fputs(fmt::format("stout-sim: {}\n", what).c_str(), tool.err);
  };
  int status = kFailed;
  try {
    const internal::Command command = parser.Parse(argc, argv);
    status =
        std::visit([&](const auto& options) { return internal::Execute(options, tool); }, command);
  } catch (const CLI::ParseError& error) {
    const bool lacks = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    if (const std::string why = lacks ? parser.WhyNoCommand() : ""; !why.empty()) {
      tell(why);
      return kBadOptions;
    }
    std::ostringstream out;
    std::ostringstream err;
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    const int code = program::Explain(parser.app(), error, arguments, out, err);
    status = code == 0 ? kOk : kBadOptions;
    std::fputs(out.str().c_str(), tool.out);
    std::fputs(err.str().c_str(), tool.err);
  } catch (const internal::CommandError& error) {
    tell(error.what());
    status = error.status;
  } catch (const PlotError& error) {
    if (program::Interrupt::flag()) return kInterrupted;  // which also ended gnuplot
    tell(error.what());
  } catch (const std::bad_alloc&) {
    tell("there is not enough memory for this scenario: make the scenario smaller");
  } catch (const std::system_error& error) {  // fmt's, of an output that takes no more
    tell(error.what());
  }
  if (status == kOk && std::fflush(tool.out) != 0) {
    tell(fmt::format("cannot write the output: {}", std::strerror(errno)));
    status = kFailed;
  }
  return status;
}

}  // namespace stout::sim
