#include "stout/sim/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>

#include "commands.h"
#include "interrupt.h"
#include "stout/sim/plot.h"

namespace stout::sim {
namespace internal {
namespace {

constexpr const char* kDescription =
    "Simulates application servers that share a store, each with the very engine that a server "
    "runs, and compares policies for when to send a batch.";

constexpr const char* kFooter =
    "Scenario, grid and result files are described in docs/SIMULATION.md.\n"
    "Exit status: 0 done; 1 a file cannot be read or written, or is wrong; 2 bad arguments; "
    "130 interrupted.";

unsigned AllCores() { return std::max(1U, std::thread::hardware_concurrency()); }

/// The options of every command; parsing fills in one of them.
class Parser {
 public:
  explicit Parser(const Tool& tool) : app_(kDescription, "stout-sim") {
    app_.footer(kFooter);
    app_.require_subcommand(1);
    AddRun(tool);
    AddOracle();
    AddSweep(tool);
    AddGrid(tool);
    AddPlot();
    AddSchema();
  }

  /// Throws CLI::ParseError.
  Command Parse(int argc, const char* const* argv) {
    app_.parse(argc, argv);
    return command_;
  }

  [[nodiscard]] const CLI::App& app() const { return app_; }

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
    // Without it -1 would be read as 2^64 - 1.
    const auto unsigned_only = [](const std::string& text) {
      return text.starts_with('-') ? fmt::format("{} is below 0", text) : std::string();
    };
    app.add_option("--seed", seed, "Instead of the scenario's; same seed, same run")
        ->check(CLI::Validator(unsigned_only, ""));
  }
  static void AddJobs(CLI::App& app, unsigned& jobs) {
    jobs = AllCores();
    app.add_option("--jobs", jobs, "Runs at a time; default: as many as there are cores")
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
  }
  static std::string PolicyHelp(const std::string& what, const Tool& tool) {
    return fmt::format("{}: {}", what, tool.policy_syntax);
  }

  void AddRun(const Tool& tool) {
    CLI::App& app = Add("run", "Run one scenario", run_);
    AddScenario(app, run_.scenario);
    app.add_option(
           "--policy", run_.policies,
           PolicyHelp("Instead of the scenario's; if repeated, servers take them in turn", tool))
        ->allow_extra_args(false)
        ->type_name("POLICY");
    AddSeed(app, run_.seed);
    app.add_flag("--json", run_.json, "Print the result as JSON, with its timeline");
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
    group->add_option("--rates", sweep_.rates, "Changes per second, of all clients")
        ->delimiter(',')
        ->type_name("RATE,...");
    group
        ->add_option("--loads", sweep_.loads,
                     "The same in percent of what perfect batching carries")
        ->delimiter(',')
        ->type_name("PERCENT,...");
    AddJobs(app, sweep_.jobs);
    app.add_flag("--json", sweep_.json, "Print JSON, which `plot sweep` reads");
  }

  void AddGrid(const Tool& tool) {
    CLI::App& app =
        Add("grid", "Compare policies with the best fixed interval on many stores", grid_);
    app.add_option("grid", grid_.grid, "The grid, JSON")->required()->type_name("GRID.json");
    app.add_option("--policy", grid_.policies, PolicyHelp("One or more", tool))
        ->type_name("POLICY");
    AddJobs(app, grid_.jobs);
    app.add_option("--only", grid_.only, "Only points whose name has this in it")
        ->type_name("TEXT");
    auto* const json = app.add_option("--json", grid_.json_file,
                                      "Write every point here, now and then and at the end; - is "
                                      "the standard output")
                           ->type_name("FILE");
    app.add_flag("--resume", grid_.resume,
                 "Keep what the file of --json has, and run what is missing")
        ->needs(json);
    app.add_option("--baseline", grid_.baseline,
                   "Take best intervals and natural batching from this earlier file of --json")
        ->type_name("FILE");
    app.add_flag("--list", grid_.list, "Run nothing; show the points");
    app.add_option("--print-scenario", grid_.print_scenario,
                   "Run nothing; print the scenario of the point of this name")
        ->type_name("POINT");
  }

  void AddPlot() {
    CLI::App& plot = *app_.add_subcommand("plot", "Draw an SVG by gnuplot");
    plot.require_subcommand(1);
    const auto add = [&](const char* name, const char* help, PlotOptions::Kind kind) {
      CLI::App* const app = plot.add_subcommand(name, help);
      auto* const files = app->add_option("files", plot_.files, "What --json printed or wrote")
                              ->required()
                              ->type_name("FILE");
      if (kind != PlotOptions::Kind::kTimeline) files->expected(1);
      app->add_option("--out", plot_.output, "The picture")->required()->type_name("FILE.svg");
      app->add_flag("--script", plot_.script, "Only print what gnuplot would be told");
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
    app.add_flag("--table", schema_.table, "A Markdown table of the fields instead");
  }

  CLI::App app_;
  Command command_;
  RunOptions run_;
  OracleOptions oracle_;
  SweepCommandOptions sweep_;
  GridOptions grid_;
  PlotOptions plot_;
  SchemaOptions schema_;
};

}  // namespace
}  // namespace internal

int RunCommandLine(int argc, const char* const* argv, const Tool& tool) {
  const internal::Interrupt interrupt;
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
    std::ostringstream out;
    std::ostringstream err;
    status = parser.app().exit(error, out, err) == 0 ? kDone : kBadArguments;
    std::fputs(out.str().c_str(), tool.out);
    std::fputs(err.str().c_str(), tool.err);
  } catch (const internal::CommandError& error) {
    tell(error.what());
    status = error.status;
  } catch (const PlotError& error) {
    tell(error.what());
  } catch (const std::bad_alloc&) {
    tell("the memory does not suffice for this scenario");
  } catch (const std::system_error& error) {  // fmt's, of an output that takes no more
    tell(error.what());
  }
  if (status == kDone && std::fflush(tool.out) != 0) {
    tell(fmt::format("cannot write the output: {}", std::strerror(errno)));
    status = kFailed;
  }
  return status;
}

}  // namespace stout::sim
