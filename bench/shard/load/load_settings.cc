#include "shard/load/load_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "program/command_line.h"
#include "program/options.h"
#include "shard/data_options.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kLoadDescription =
    "Offers load to a blowfish-server, or with --operations get to a Redis, even if the server "
    "does not keep up. Writes a line of CSV for each slice of time: requests offered and answered, "
    "latencies, and each shard's queue and layers. Before, write records with shard-data --format "
    "keyed and the same --size, --seed (here --data-seed) and --placed-by, and load them with "
    "blowfish-load --drop-key.";

constexpr const char* kLoadFooter =
    "A spike:        shard-load --phase 2000:10s --phase 6000:20s --phase 2000:10s\n"
    "A ramp:         shard-load --phase 500-4000:60s\n"
    "Maximum speed:  shard-load --closed 10s --csv /dev/null\n"
    "Latency counts from the time when a request was due, however late it was sent.\n"
    "Exit codes: 0 done; 1 failed, or some answers were errors; 2 wrong options; 130 interrupted.";

[[noreturn]] void RejectOption(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError(flag, why);
}

std::optional<load::Distribution> ParseSkew(const std::string& text) {
  const auto parsed = load::ParseDistribution(text);
  return parsed && parsed->theta > 0 ? parsed : std::nullopt;
}

void AddServer(CLI::App& app, LoadSettings& settings) {
  program::Options options(app);
  options.Peer("--to", settings.to, "The server");
  options.Count("--connections", settings.connections, 1, 1000, "Connections to the server");
  AddDataOptions(app, settings.data);
  AddPlacement(app, settings.placement);
}

void AddRates(CLI::App& app, LoadSettings& settings) {
  app.add_option_function<std::vector<std::string>>(
         "--phase",
         [&settings](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const std::optional<Phase> phase = ParsePhase(text);
             if (!phase) {
               RejectOption("--phase",
                            fmt::format("'{}' is not RATE:TIME or FROM-TO:TIME, such as 2000:10s "
                                        "or 2000-6000:20s",
                                        text));
             }
             settings.phases.push_back(*phase);
           }
         },
         "Requests per second for this time. With two rates, the rate changes evenly from the "
         "first to the second. The next --phase follows")
      ->type_name("RATE[-RATE]:TIME");
  program::Options options(app);
  options.Time("--closed", settings.closed,
               "Instead of phases: send as fast as the server answers, for this time");
  options.Count("--depth", settings.depth, 1, 100'000,
                "With --closed: requests in flight per connection");
  options.Count(
      "--most-under-way", settings.most_under_way, 1, 100'000'000,
      "Maximum requests in flight; a request that is due beyond is counted, but not sent");
  options.Time("--patience", settings.patience,
               "Longest wait at the end for requests without an answer");
}

void AddRequests(CLI::App& app, RequestOptions& requests) {
  program::Options options(app);
  options.Choice<Operations>(
      "--operations", requests.operations,
      {{"get", Operations::kGet}, {"search", Operations::kSearch}, {"mix", Operations::kMix}},
      "get; search, by attribute and value; mix: half of each");
  app.add_option("--class", requests.search_class, "Class of the searches: an attribute, or mix8")
      ->check(IsSearchClass)
      ->type_name("CLASS")
      ->capture_default_str();
  options.Count("--keys", requests.keys, 1, 1000,
                "Keys of a get. More than one are sent as MGET, with --shard-skew of one shard");
  AddDistribution(app, requests.distribution);
  options.Seed(requests.seed, "The same seed gives the same requests");
}

void AddSkew(CLI::App& app, LoadSettings& settings, ShardSkew& skew) {
  program::Options options(app);
  CLI::Option* const option =
      options.Read("--shard-skew",
                   "How often each shard is chosen: by the keys of gets, or with --placed-by by "
                   "the value that is searched for. Shard 0 is the hottest",
                   "zipf:EXPONENT", "", ParseSkew, "zipf:EXPONENT, such as zipf:0.99",
                   [&](const load::Distribution& parsed) {
                     skew.distribution = parsed;
                     settings.requests.skew = skew;
                   });
  options.Time("--turn", skew.turn, "After this time the next shard is the hottest")->needs(option);
}

void AddOutput(CLI::App& app, LoadSettings& settings) {
  program::Options options(app);
  options.Time("--slice", settings.slice, std::chrono::milliseconds(1), std::chrono::seconds(10),
               "Time that one line of the CSV covers");
  options.Text("--csv", settings.csv, "Write the CSV to this file; - is stdout", "FILE");
  options.Text("--json", settings.json, "Also write a summary to this file", "FILE");
}

bool CanBeSkewed(const LoadSettings& settings) {
  const RequestOptions& requests = settings.requests;
  if (requests.operations != Operations::kSearch) return requests.operations == Operations::kGet;
  return settings.placement &&
         requests.search_class == Lineitem::GetSchema().names()[settings.placement->attribute];
}

/// Checks what only the combination of options shows.
void CheckTogether(const LoadSettings& settings) {
  const bool closed = settings.closed > Duration::zero();
  if (settings.phases.empty() && !closed) {
    RejectOption("--phase", "is required, such as --phase 2000:10s; or use --closed");
  }
  if (!settings.phases.empty() && closed) {
    RejectOption(
        "--closed",
        "does not go with --phase, because the server determines the rate: leave one of them out");
  }
  if (settings.requests.skew && !CanBeSkewed(settings)) {
    RejectOption("--shard-skew",
                 "needs --operations get, or --operations search and --placed-by the attribute of "
                 "--class, because other searches use all shards");
  }
  if (settings.depth * settings.connections > settings.most_under_way && closed) {
    RejectOption(
        "--depth",
        "times --connections is more than --most-under-way: lower the former or raise the latter");
  }
}

}  // namespace

std::variant<LoadSettings, ExitCode> ParseLoadSettings(int argc, const char* const* argv) {
  LoadSettings settings;
  ShardSkew skew;
  CLI::App app(kLoadDescription, "shard-load");
  app.footer(kLoadFooter);
  AddServer(app, settings);
  AddRates(app, settings);
  AddRequests(app, settings.requests);
  AddSkew(app, settings, skew);
  AddOutput(app, settings);
  app.callback([&] {
    // The two options come in any order.
    if (settings.requests.skew) settings.requests.skew->turn = skew.turn;
    CheckTogether(settings);
  });
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  return settings;
}

}  // namespace stout::bench::shard
