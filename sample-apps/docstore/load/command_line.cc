#include "load/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>

#include "load/value_body.h"
#include "stout/adapters/store_url.h"
#include "stout/core/policy/basic.h"

namespace stout::load {
namespace {

constexpr std::chrono::seconds kDefaultDuration{10};
constexpr double kDefaultRate = 1000;

constexpr const char* kDescription =
    "Loads a docstore-server as independent users would: every request is due at its own time, "
    "whether or not earlier ones were answered, and its latency counts from then.";

constexpr const char* kFooter =
    "Durations have a unit: 500us, 20ms, 5s.\n"
    "Exit status: 0 done; 1 the run could not be made; 2 bad options; 3 lost, stale or invalid "
    "values;\n4 not everything could be read back; 5 slower than --max-p99; 130 interrupted.";

/// Adds an option that `parse` turns from text into a value, or refuses.
template <typename T>
CLI::Option* AddParsed(CLI::App& app, const std::string& flag, T& value,
                       std::optional<T> (*parse)(std::string_view), const std::string& syntax,
                       const std::string& help, const std::string& default_text = "") {
  CLI::Option* const option = app.add_option_function<std::string>(
      flag,
      [&value, parse, flag, syntax](const std::string& text) {
        const std::optional<T> parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(flag, fmt::format("'{}' is not {}", text, syntax));
        value = *parsed;
      },
      help);
  option->type_name(syntax);
  if (!default_text.empty()) option->default_str(default_text);
  return option;
}

CLI::Option* AddDuration(CLI::App& app, const std::string& flag, Duration& value,
                         const std::string& help, const std::string& default_text) {
  return AddParsed(app, flag, value, ParseDuration, "a duration such as 20ms or 5s", help,
                   default_text)
      ->type_name("DURATION");
}

std::optional<Arrivals> ParseArrivals(std::string_view text) {
  if (text == "poisson") return Arrivals::kPoisson;
  if (text == "uniform") return Arrivals::kUniform;
  return std::nullopt;
}

void Require(bool condition, const std::string& flag, const std::string& message) {
  if (!condition) throw CLI::ValidationError(flag, message);
}

/// What one option alone cannot know.
void Check(LoadOptions& options, double rate) {
  Require(!options.target.host.empty(), "--target", "is required: where the server is");
  Require(options.value_bytes >= kBodyHeaderBytes, "--value-bytes",
          fmt::format("at least {}: each value begins with a header that tells which request wrote "
                      "it",
                      kBodyHeaderBytes));
  Require(std::uint64_t{options.corpus.documents} * options.corpus.sections <= UINT32_MAX,
          "--documents", "documents x sections must stay below 2^32");
  Require(rate > 0, "--rate", "must be more than 0");
  if (options.steps.empty()) options.steps = {{Duration::zero(), rate}};
  if (options.duration == Duration::zero()) {
    options.duration =
        options.steps.size() > 1 ? ImpliedDuration(options.steps) : Duration(kDefaultDuration);
  }
  Require(options.duration > options.steps.back().start, "--duration",
          "must be after the last step begins");
  Require(options.timeout > Duration::zero(), "--timeout", "must be more than 0");
  Require(!options.verify_only || !options.verify_file.empty(), "--verify-only",
          "needs --verify-file, which says what to look for");
  if (!options.verify_file.empty()) options.verify = true;
  if (options.label.empty()) options.label = options.target.Url();
}

void AddLoadOptions(CLI::App& app, LoadOptions& options, double& rate) {
  const CLI::Range at_least_1(1.0, 4294967295.0, "at least 1");

  AddParsed(app, "--target", options.target, ParseTarget, "http://HOST:PORT", "The server");
  auto* const rate_option =
      app.add_option("--rate", rate, "Requests per second")->capture_default_str();
  AddParsed(app, "--steps", options.steps, ParseSteps, "START:RATE,...",
            "Rates that change, such as 0s:500,5s:12000,15s:500")
      ->excludes(rate_option);
  AddDuration(app, "--duration", options.duration,
              "Length of the run; with --steps the last step lasts as long as the one before it",
              "10s");
  AddDuration(app, "--warmup", options.warmup,
              "Load before the run, at its first rate, that is not measured", "0s");
  AddParsed(app, "--arrivals", options.arrivals, ParseArrivals, "poisson|uniform",
            "Random gaps, as of independent users, or equal ones", "poisson");
  app.add_option("--seed", options.seed, "Same seed, same load")->capture_default_str();

  app.add_option("--documents", options.corpus.documents, "Documents")
      ->check(at_least_1)
      ->capture_default_str();
  app.add_option("--sections", options.corpus.sections, "Sections of each document")
      ->check(at_least_1)
      ->capture_default_str();
  app.add_option("--value-bytes", options.value_bytes, "Bytes of each section")
      ->capture_default_str();
  app.add_option("--read-fraction", options.read_fraction, "Share of reads, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  AddParsed(app, "--distribution", options.distribution, ParseDistribution, "uniform|zipf:EXPONENT",
            "How often each document is chosen", "uniform");
  app.add_flag("--preload", options.preload,
               "Write every section once before the run, so that the run creates none");

  app.add_option("--connections", options.connections, "Connections to the server")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--pipeline", options.pipeline, "Requests in flight per connection")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  AddDuration(app, "--timeout", options.timeout,
              "Gives up a request this long after it was sent, or was due and could not be sent",
              "10s");

  app.add_flag("--verify", options.verify,
               "Check every read, and read everything back at the end: nothing that was "
               "acknowledged may be lost or stale. Nobody else may write these documents");
  app.add_option("--verify-file", options.verify_file,
                 "Keep in this file what was acknowledged, and go on from it if it exists; implies "
                 "--verify")
      ->type_name("FILE");
  app.add_flag("--verify-only", options.verify_only,
               "No load: only read back what --verify-file says");
  AddDuration(app, "--verify-timeout", options.verify_timeout, "Longest time for reading back",
              "60s");

  AddDuration(app, "--max-p99", options.max_p99,
              "Fail (exit status 5) unless every request was answered with success, and 99 % of "
              "the reads and of the writes within this time of being due",
              "no bound");
  app.add_flag("--stats", options.server_stats,
               "Sample the server's /metrics each second: batch size and collapse ratio");
  app.add_option("--label", options.label, "Names the run in reports; default: the target")
      ->type_name("TEXT");
  app.add_option("--json", options.json_file, "Write the report here; - is the standard output")
      ->type_name("FILE");
}

void AddReportOptions(CLI::App& report, ReportOptions& options) {
  report.add_option("files", options.files, "Reports that --json wrote")
      ->required()
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  report.add_option("--json", options.json_file, "Write all of them into one file")
      ->type_name("FILE");
  report.add_option("--plot-data", options.plot_data, "Write files for gnuplot here")
      ->type_name("DIRECTORY");
}

}  // namespace

Command ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app(kDescription, "docstore-load");
  app.footer(kFooter);
  LoadOptions load;
  double rate = kDefaultRate;
  AddLoadOptions(app, load, rate);
  ReportOptions report;
  CLI::App* const report_command =
      app.add_subcommand("report", "Compare the reports of several runs in one table");
  AddReportOptions(*report_command, report);
  try {
    app.parse(argc, argv);
    if (report_command->parsed()) return report;
    Check(load, rate);
    return load;
  } catch (const CLI::ParseError& error) {
    std::ostringstream why;
    const int code = app.exit(error, std::cout, why);
    std::cerr << RedactedMessage(why.str(), {argv, static_cast<std::size_t>(argc)});
    return code == 0 ? kOk : kBadOptions;
  }
}

}  // namespace stout::load
