#include "policies/bench_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "load/command_line.h"
#include "policies/opponents/opponents.h"
#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/open_store.h"
#include "stout/core/policy/basic.h"

namespace stout::bench {
namespace {

constexpr const char* kDescription =
    "Compares batching policies on real stores. Each trial runs several application servers "
    "against one store. Users are an open loop (Poisson): latency counts from the time at which a "
    "change was due. Policies take turns in short trials, so that other work on this machine "
    "affects all of them alike. The medians of the repetitions are reported. A policy that is "
    "overloaded at a rate, twice in a row, is not measured at higher rates.";

/// The policies that a comparison is about; those that a build does not know are left out.
const std::vector<std::string> kDefaultPolicies = {
    "unbatched", "tick:20ms", "tick:40ms", "tick:80ms", "tick:160ms", "natural",  "stout",
    "adaptive",  "fdb",       "datadog",   "kafka",     "vegas",      "gradient2"};

constexpr const char* kQuick = "--quick";
constexpr const char* kFull = "--full";

std::string Footer() {
  return fmt::format(
      "Policies:\n  {}\nStores:\n{}\n"
      "Exit codes: 0 done; 1 failed; 2 wrong options; 130 interrupted (the trials until then are "
      "reported).",
      OpponentSyntax(), StoreUrlSyntax());
}

/// Some 2 minutes for two stores: is there a difference at all?
BenchOptions Quick() {
  BenchOptions options;
  options.servers = {16};
  options.rates = {100, 2000, 20000};
  options.search_steps = 4;
  options.warmup = std::chrono::milliseconds(150);
  options.measure = std::chrono::milliseconds(250);
  return options;
}

/// Some hours: figures to publish. Laws that take seconds to settle have them.
BenchOptions Full() {
  BenchOptions options;
  options.documents = {10000, 100};
  options.rates = {100, 500, 2000, 10000, 30000, 60000, 120000};
  options.sustained = {1, 4, 16};
  options.repetitions = 3;
  options.warmup = std::chrono::seconds(2);
  options.measure = std::chrono::seconds(2);
  return options;
}

/// Returns the values of the options that are not given.
BenchOptions Defaults(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  return given(kFull) ? Full() : given(kQuick) ? Quick() : BenchOptions{};
}

std::vector<Policy> ReadPolicies(const std::string& program,
                                 const std::vector<std::string>& texts) {
  std::vector<Policy> policies;
  for (const std::string& text : texts) {
    std::string error;
    if (std::optional<Policy> policy = MakeOpponent(text, &error)) {
      policies.push_back(*std::move(policy));
    } else {
      fmt::print(stderr, "{}: --policies: left out: {}\n", program, error);
    }
  }
  return policies;
}

}  // namespace

std::variant<BenchOptions, ExitCode> ParseCommandLine(int argc, const char* const* argv,
                                                      const std::string& program) {
  BenchOptions options = Defaults(argc, argv);
  bool quick = false;
  bool full = false;  // both are in the defaults already
  std::vector<std::string> stores;
  std::vector<std::string> policies = kDefaultPolicies;
  CLI::App app(kDescription, program);
  app.footer(Footer());
  app.add_option("--store", stores,
                 "The stores. A store without a name gets the name of its URL's scheme")
      ->required()
      ->type_name("[NAME=]URL...");
  app.add_option("--policies", policies,
                 "Policies to compare. A policy that this build does not know is left out")
      ->type_name("POLICY...")
      ->capture_default_str();
  auto* const quick_flag =
      app.add_flag(kQuick, quick, "Other defaults: about 2 minutes for two stores");
  app.add_flag(kFull, full, "Other defaults: several hours, also with few documents")
      ->excludes(quick_flag);
  AddList(app, "--servers", options.servers, 1, "Application servers that share the store");
  AddList(app, "--documents", options.documents, 1,
          "Documents of all servers; with few of them, many changes collapse into one write");
  AddList(app, "--rates", options.rates, 1, "Changes per second of all servers");
  AddList(app, "--sustained", options.sustained, 0,
          "With these numbers of servers, also search for the highest rate that each policy "
          "sustains, by bisection in longer trials, up to four times the highest of --rates; 0: "
          "never");
  program::Options more(app);
  more.Time("--max-p99", options.max_p99,
            "A rate is sustained if all changes are answered, 99 % of them within this time, and "
            "latency does not grow");
  more.Count("--repetitions", options.repetitions, 1, 1000, "Trials per point");
  more.Time("--warmup", options.warmup, "Load before the measured part of each trial");
  more.Time("--measure", options.measure, "Measured part of each trial");
  more.Number("--step", options.step, 0.01, 100,
              "After the warm-up the rate changes by this factor")
      ->default_str("");
  more.Time("--slice", options.slice,
            "Also report latency and interval over time, in slices of this length");
  more.Bytes("--value-bytes", options.value_bytes, 1, 1 << 20, "Size of each value");
  more.Seed(options.seed, "The same seed gives the same load");
  AddJson(app, options.json_file);
  more.Text("--plot-data", options.plot_data, "Write one file per picture here, for gnuplot",
            "DIRECTORY");
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  if (!ReadStores(program, stores, options.stores)) return kBadOptions;
  std::erase(options.sustained, 0);
  std::sort(options.rates.begin(), options.rates.end());
  options.policies = ReadPolicies(program, policies);
  if (options.policies.empty()) {
    fmt::print(stderr, "{}: --policies: no policy is left to measure; use {}\n", program,
               OpponentSyntax());
    return kBadOptions;
  }
  return options;
}

}  // namespace stout::bench
