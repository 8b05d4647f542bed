#include "shard/load/load_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <optional>

#include "shard/data_options.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kLoadDescription =
    "Offers load to a blowfish-server, or with --operations get to a Redis, whether it keeps up or "
    "not, and writes a line of CSV for each slice of time: what was offered and answered, "
    "latencies, and each shard's queue and layers. The server has the records of shard-data "
    "--format keyed, by the same --size, --seed (here --data-seed) and --placed-by, which "
    "blowfish-load --drop-key has brought there.";

constexpr const char* kLoadFooter =
    "A spike:  shard-load --phase 2000:10 --phase 6000:20 --phase 2000:10\n"
    "A ramp:   shard-load --phase 500-4000:60\n"
    "How fast: shard-load --closed 10s --csv /dev/null\n"
    "Latency counts from the time when a request was due, however late it was sent.\n"
    "Exit status: 0 done; 1 failed, or some answers were errors; 2 bad options; 130 interrupted.";

const std::map<std::string, Operations> kOperations = {
    {"get", Operations::kGet}, {"search", Operations::kSearch}, {"mix", Operations::kMix}};

[[noreturn]] void RejectOption(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError(flag, why);
}

std::optional<blowfish::HostPort> ParseServer(const std::string& text) {
  const Result<blowfish::HostPort> parsed = blowfish::ParseHostPort(text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::optional<load::Distribution> ParseSkew(const std::string& text) {
  const auto parsed = load::ParseDistribution(text);
  return parsed && parsed->theta > 0 ? parsed : std::nullopt;
}

void AddServer(CLI::App& app, LoadSettings& settings) {
  AddParsed(
      app, "--to", ParseServer, [&](const auto& to) { settings.to = to; },
      "is not HOST:PORT, an IPv6 address as [::1]:6480", "The server")
      ->type_name("HOST:PORT")
      ->default_str(fmt::format("{}:{}", settings.to.host, settings.to.port));
  app.add_option("--connections", settings.connections, "To the server")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
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
                            fmt::format("'{}': write RATE:SECONDS, or FROM-TO:SECONDS, such as "
                                        "2000:10 or 2000-6000:20",
                                        text));
             }
             settings.phases.push_back(*phase);
           }
         },
         "Requests per second for so many seconds; of two rates, evenly from one to the other. The "
         "next --phase follows")
      ->type_name("RATE[-RATE]:SECONDS");
  AddDuration(app, "--closed", settings.closed,
              "Instead of phases: so long as fast as the server answers");
  app.add_option("--depth", settings.depth, "With --closed: requests under way on each connection")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--most-under-way", settings.most_under_way,
                 "Requests without an answer beyond which what is due is counted, but not sent")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  AddDuration(app, "--patience", settings.patience,
              "At the end, for requests that have no answer yet");
}

void AddRequests(CLI::App& app, RequestOptions& requests) {
  app.add_option("--operations", requests.operations,
                 "get; search, by attribute and value; mix: each half of the time")
      ->transform(CLI::CheckedTransformer(kOperations))
      ->default_str("mix")
      ->type_name("WHAT");
  app.add_option("--class", requests.search_class, "Of searches: an attribute, or mix8")
      ->check([](const std::string& name) {
        for (const SearchClass& of : SearchClasses(Lineitem::GetSchema())) {
          if (of.name == name) return std::string();
        }
        return fmt::format("'{}' is neither an attribute nor mix8", name);
      })
      ->capture_default_str();
  app.add_option("--keys", requests.keys,
                 "Of a get; several are asked for by MGET, with --shard-skew of one shard")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddDistribution(app, requests.distribution);
  app.add_option("--seed", requests.seed, "Same seed, same requests")->capture_default_str();
}

void AddSkew(CLI::App& app, LoadSettings& settings, ShardSkew& skew) {
  CLI::Option* const option =
      AddParsed(
          app, "--shard-skew", ParseSkew,
          [&](const load::Distribution& parsed) {
            skew.distribution = parsed;
            settings.requests.skew = skew;
          },
          "is not zipf:EXPONENT, such as zipf:0.99",
          "Of the shards that have the keys of gets, or with --placed-by, what is searched for; "
          "shard 0 is the hottest")
          ->type_name("zipf:EXPONENT");
  AddDuration(app, "--turn", skew.turn, "After each such time the next shard is the hottest");
  app.get_option("--turn")->needs(option);
}

void AddOutput(CLI::App& app, LoadSettings& settings) {
  AddDuration(app, "--slice", settings.slice, "Of time, for which there is a line");
  app.add_option("--csv", settings.csv, "Where the lines go; - is the standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--json", settings.json, "Where a summary goes, besides the terminal")
      ->type_name("FILE");
}

bool CanBeSkewed(const LoadSettings& settings) {
  const RequestOptions& requests = settings.requests;
  if (requests.operations != Operations::kSearch) return requests.operations == Operations::kGet;
  return settings.placement &&
         requests.search_class == Lineitem::GetSchema().names()[settings.placement->attribute];
}

/// What no option can see by itself.
void CheckTogether(const LoadSettings& settings) {
  const bool closed = settings.closed > Duration::zero();
  if (settings.phases.empty() && !closed) {
    RejectOption("--phase",
                 "say how much load there is to be, such as --phase 2000:10, or --closed");
  }
  if (!settings.phases.empty() && closed) {
    RejectOption("--closed", "excludes --phase: it takes the rate from the server");
  }
  if (settings.requests.skew && !CanBeSkewed(settings)) {
    RejectOption("--shard-skew",
                 "needs --operations get, for a search burdens all shards; or --operations search "
                 "and --placed-by the attribute that is its --class");
  }
  if (settings.slice < std::chrono::milliseconds(1) || settings.slice > std::chrono::seconds(10)) {
    RejectOption("--slice", "is from 1ms to 10s");
  }
  if (settings.depth * settings.connections > settings.most_under_way && closed) {
    RejectOption("--depth", "on all connections is more than --most-under-way");
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
    // Whichever of the two came first.
    if (settings.requests.skew) settings.requests.skew->turn = skew.turn;
    CheckTogether(settings);
  });
  if (const std::optional<ExitCode> end = ReadArguments(app, argc, argv)) return *end;
  return settings;
}

}  // namespace stout::bench::shard
