#include "stores/compare_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

#include "stout/adapters/open_store.h"
#include "stout/core/options.h"

namespace stout::bench {
namespace {

constexpr const char* kProgram = "store-bench";

constexpr const char* kDescription =
    "Compares what applications do today, one statement or command per change, with libstout on "
    "the same store: the highest rate of durable changes with a p99 within a bound, latency at "
    "that rate, at the rate that is the most without libstout, and at one change a second. Users "
    "are an open loop (Poisson), latency counts from the time at which a change was due, and the "
    "contenders take turns in short trials.";

constexpr const char* kNone = "none";

std::string Footer() {
  return fmt::format(
      "Plain clients: pool:N, N connections (of RocksDB: threads) that write one change at a time; "
      "pipelined:N, N connections that do not wait for answers; none.\n"
      "Stores:\n{}\nDurations have a unit: 500us, 20ms, 5s.\n"
      "Exit status: 0 done; 1 failed; 2 bad options; 130 interrupted (what was measured until then "
      "is reported).",
      StoreUrlSyntax());
}

/// False, and a line on stderr, if one cannot be read.
bool ReadWriters(const std::vector<std::string>& texts, std::vector<WriterSpec>& writers) {
  for (const std::string& text : texts) {
    if (text == kNone) continue;
    const std::optional<WriterSpec> writer = ParseWriter(text);
    if (!writer) {
      fmt::print(stderr, "{}: '{}': write pool:N, pipelined:N or none\n", kProgram, text);
      return false;
    }
    writers.push_back(*writer);
  }
  return true;
}

bool ReadPolicies(const std::vector<std::string>& texts, std::vector<Policy>& policies) {
  for (const std::string& text : texts) {
    if (text == kNone) continue;
    std::string error;
    const std::optional<Policy> policy = MakePolicy(text, &error);
    if (!policy) {
      fmt::print(stderr, "{}: {}\n", kProgram, error);
      return false;
    }
    policies.push_back(*policy);
  }
  return true;
}

}  // namespace

std::variant<StoreBenchCommand, ExitCode> ParseStoreBench(int argc, const char* const* argv) {
  StoreBenchCommand command;
  CompareOptions& options = command.compare;
  std::vector<std::string> stores;
  std::vector<std::string> variants;
  std::vector<std::string> writers = {"pool:1", "pool:4", "pool:16", "pool:64"};
  std::vector<std::string> policies = {"unbatched", "fixed:20ms", "natural", "stout", "adaptive"};
  CLI::App app(kDescription, kProgram);
  app.footer(Footer());
  app.add_option("--store", stores, "The stores; without a name, called after the URL's scheme")
      ->required()
      ->type_name("[NAME=]URL...");
  app.add_option("--variant", variants,
                 "The same stores opened in another way, in which the policies run too")
      ->type_name("NAME=URL...");
  app.add_option("--writers", writers, "Plain clients")
      ->type_name("CLIENT...")
      ->capture_default_str();
  app.add_option("--policies", policies, "Policies of libstout, or none")
      ->type_name("POLICY...")
      ->capture_default_str();
  AddList(app, "--documents", options.documents, 1, "Documents: few make for much collapsing");
  app.add_option("--value-bytes", options.value_bytes, "Bytes of each value")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  AddDuration(app, "--max-p99", options.max_p99,
              "A rate is sustained if all is answered, 99 % of it within this time, and latency "
              "does not grow");
  app.add_option("--first-rate", options.search.first, "Changes per second, where to begin")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_option("--rate", options.rate,
                 "Compare at so many changes per second instead of searching for the highest rates")
      ->check(CLI::Range(1.0, 1e6));
  app.add_option("--resolution", options.search.resolution,
                 "The highest rate is searched for until what is too much is so close")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  AddDuration(app, "--warmup", options.fine.warmup, "Load before each trial's measured part");
  AddDuration(app, "--measure", options.fine.measure, "Measured part of each trial");
  app.add_option("--repetitions", options.repetitions, "Trials of each figure that is reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--light-load", options.light_load_s,
                 "Seconds for which each has one change a second; 0: leave that out")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same seed, same load")->capture_default_str();
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = ReadArguments(app, argc, argv)) return *end;
  if (!ReadStores(kProgram, stores, options.stores) ||
      !ReadStores(kProgram, variants, options.variants) || !ReadWriters(writers, options.writers) ||
      !ReadPolicies(policies, options.policies)) {
    return kBadOptions;
  }
  return command;
}

}  // namespace stout::bench
