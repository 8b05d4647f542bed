#include "load/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>

#include "load/value_body.h"
#include "program/command_line.h"
#include "program/options.h"
#include "stout/tenants.h"

namespace stout::load {
namespace {

constexpr std::chrono::seconds kDefaultDuration{10};
constexpr double kDefaultRate = 1000;

constexpr const char* kDescription =
    "Loads a docstore-server as independent users would. Every request is due at its own time, "
    "even if earlier requests have no answer yet, and its latency counts from then.";

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 the run could not be made; 2 wrong options; 3 lost, stale or invalid "
    "values;\n4 not all values could be read back; 5 slower than --max-p99; 130 interrupted.";

void Require(bool condition, const std::string& flag, const std::string& message) {
  if (!condition) throw CLI::ValidationError(flag, message);
}

/// Checks what only the combination of options shows.
void Check(LoadOptions& options, double rate) {
  Require(!options.target.host.empty(), "--target",
          "is required: give the server's URL, like http://127.0.0.1:8080");
  Require(
      options.value_bytes >= kBodyHeaderBytes, "--value-bytes",
      fmt::format("must be at least {} bytes, because each value begins with a header that names "
                  "the request that wrote it",
                  kBodyHeaderBytes));
  Require(std::uint64_t{options.corpus.documents} * options.corpus.sections <= UINT32_MAX,
          "--documents", "times --sections must be below 2^32: lower one of them");
  Require(rate > 0, "--rate", "must be more than 0");
  if (options.steps.empty()) options.steps = {{Duration::zero(), rate}};
  if (options.duration == Duration::zero()) {
    options.duration =
        options.steps.size() > 1 ? ImpliedDuration(options.steps) : Duration(kDefaultDuration);
  }
  Require(options.duration > options.steps.back().start, "--duration",
          "must be longer than the start of the last step");
  Require(!options.verify_only || !options.verify_file.empty(), "--verify-only",
          "needs --verify-file, which has the values to look for");
  if (!options.verify_file.empty()) options.verify = true;
  if (options.label.empty()) options.label = "http://" + options.target.Text();
}

void AddLoadOptions(CLI::App& app, LoadOptions& options, double& rate) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  program::Options more(app);

  more.Group("Load");
  more.HttpUrl("--target", options.target, "Required: the server");
  CLI::Option* const rate_option = more.Number("--rate", rate, 0, 1e9, "Requests per second");
  more.Read("--steps", "Rates that change, such as 0s:500,5s:12000,15s:500", "START:RATE,...", "",
            ParseSteps, "START:RATE,... with times that grow from 0s, such as 0s:500,5s:12000",
            [&options](const std::vector<Step>& steps) { options.steps = steps; })
      ->excludes(rate_option);
  more.Time("--duration", options.duration,
            "Length of the run. With --steps the last step lasts as long as the one before it")
      ->default_str("10s");
  more.Time("--warmup", options.warmup, Duration::zero(), Duration::max(),
            "Load before the run, at its first rate, that is not measured");
  more.Choice<Arrivals>("--arrivals", options.arrivals,
                        {{"poisson", Arrivals::kPoisson}, {"uniform", Arrivals::kUniform}},
                        "Random gaps between requests, as of independent users, or equal gaps");
  more.Seed(options.seed, "The same seed gives the same load");

  more.Group("Data");
  more.Parsed("--tenant", "The tenant of all requests. docstore-server needs --trust-tenant-header",
              "NAME", "", [&options](const std::string& text) {
                options.tenant = text;
                return Tenants::IsName(text) ? std::string()
                                             : fmt::format("a name has {}", Tenants::kNameRule);
              });
  more.Count("--documents", options.corpus.documents, 1, kMax, "Documents");
  more.Count("--sections", options.corpus.sections, 1, kMax, "Sections per document");
  more.Bytes("--value-bytes", options.value_bytes, 0, "Size of each section");
  more.Number("--read-fraction", options.read_fraction, 0, 1, "Share of reads");
  more.Read("--distribution", "How often each document is chosen", "uniform|zipf:EXPONENT",
            "uniform", ParseDistribution, "uniform, or zipf:EXPONENT with an exponent up to 10",
            [&options](const Distribution& parsed) { options.distribution = parsed; });
  more.Flag("--preload", options.preload,
            "Write every section once before the run, so that the run creates none. Fails if the "
            "server refuses a section, or writes none for twice --timeout");

  more.Group("Connections");
  more.Count("--connections", options.connections, 1, 10'000, "Connections to the server");
  more.Count("--pipeline", options.pipeline, 1, 10'000, "Requests in flight per connection");
  more.Time("--timeout", options.timeout,
            "A request fails if it has no answer for this time after it was sent. A request that "
            "cannot be sent fails this time after it was due");

  more.Group("Verification");
  more.Flag("--verify", options.verify,
            "Check every read, and read all values back at the end: no acknowledged value may be "
            "lost or stale. No other client may write these documents");
  more.Text("--verify-file", options.verify_file,
            "Keep the acknowledged values in this file, and continue from the file if it exists. "
            "Implies --verify",
            "FILE");
  more.Flag("--verify-only", options.verify_only,
            "No load: only read back the values in --verify-file");
  more.Time("--verify-timeout", options.verify_timeout, Duration::zero(), Duration::max(),
            "Longest time for reading back");

  more.Group("Report");
  more.Time("--max-p99", options.max_p99, Duration::zero(), Duration::max(),
            "Exit with code 5 unless every request succeeded, and 99 % of the reads and of the "
            "writes within this time of being due")
      ->default_str("no limit");
  more.Flag("--stats", options.server_stats,
            "Sample the server's /metrics each second: batch size and collapse ratio");
  more.Flag("--progress", options.progress,
            "Print a line per second on stderr: rates, the latency of the writes answered in that "
            "second and, with --stats, writes per batch. By default a terminal shows one line that "
            "changes");
  more.Text("--label", options.label, "Name of the run in reports", "TEXT")
      ->default_str("the target");
  more.Text("--json", options.json_file, "Write the report to this file; - is stdout", "FILE");
}

void AddReportOptions(CLI::App& report, ReportOptions& options) {
  report.add_option("files", options.files, "Reports that --json wrote")
      ->required()
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  program::Options more(report);
  more.Text("--json", options.json_file, "Write all reports into this file", "FILE");
  more.Text("--plot-data", options.plot_data, "Write files for gnuplot here", "DIRECTORY");
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
  const auto end = program::ReadArguments(app, argc, argv, [&] {
    if (!report_command->parsed()) Check(load, rate);
    return std::string();
  });
  if (end) return *end;
  if (report_command->parsed()) return report;
  return load;
}

}  // namespace stout::load
