#include "stores/compare_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/open_store.h"
#include "stout/core/options.h"

namespace stout::bench {
namespace {

constexpr const char* kProgram = "store-bench";

constexpr const char* kDescription =
    "Compares libstout with plain clients, which send one statement or command per change, on the "
    "same store. Measures the highest rate of durable changes whose p99 is within a bound. "
    "Measures latency at that rate, at the highest rate without libstout, and at one change a "
    "second. Users are an open loop (Poisson): latency counts from the time at which a change was "
    "due. The contenders take turns in short trials.";

constexpr const char* kNone = "none";

std::string Footer() {
  return fmt::format(
      "Plain clients: pool:N is N connections (RocksDB: threads) that write one change at a time; "
      "pipelined:N is N connections that do not wait for answers.\nStores:\n{}\n"
      "Exit codes: 0 done; 1 failed; 2 wrong options; 130 interrupted (the trials until then are "
      "reported).",
      StoreUrlSyntax());
}

/// Returns false if a text is no writer; the problem has then been reported on stderr.
bool ReadWriters(const std::vector<std::string>& texts, std::vector<WriterSpec>& writers) {
  for (const std::string& text : texts) {
    if (text == kNone) continue;
    const std::optional<WriterSpec> writer = ParseWriter(text);
    if (!writer) {
      fmt::print(stderr, "{}: --writers: '{}' is not pool:N, pipelined:N or none\n", kProgram,
                 text);
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
      fmt::print(stderr, "{}: --policies: {}\n", kProgram, error);
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
  app.add_option("--store", stores,
                 "The stores. A store without a name gets the name of its URL's scheme")
      ->required()
      ->type_name("[NAME=]URL...");
  app.add_option("--variant", variants,
                 "The same stores, opened in another way. The policies run on them, too")
      ->type_name("NAME=URL...");
  app.add_option("--writers", writers, "Plain clients; or none")
      ->type_name("CLIENT...")
      ->capture_default_str();
  app.add_option("--policies", policies, "Policies of libstout; or none")
      ->type_name("POLICY...")
      ->capture_default_str();
  program::Options more(app);
  AddList(app, "--documents", options.documents, 1,
          "Documents; with few of them, many changes collapse into one write");
  more.Bytes("--value-bytes", options.value_bytes, 1, 1 << 20, "Size of each value");
  more.Time("--max-p99", options.max_p99,
            "A rate is sustained if all changes are answered, 99 % of them within this time, and "
            "latency does not grow");
  more.Number("--first-rate", options.search.first, 1, 1e6, "First rate, in changes per second");
  more.Number("--rate", options.rate, 1, 1e6,
              "Compare at this number of changes per second instead of searching for the highest "
              "rates")
      ->default_str("");
  more.Number("--resolution", options.search.resolution, 0.01, 1,
              "The search ends when the lowest rate that failed is at most this share above the "
              "highest rate that passed");
  more.Time("--warmup", options.fine.warmup, "Load before the measured part of each trial");
  more.Time("--measure", options.fine.measure, "Measured part of each trial");
  more.Count("--repetitions", options.repetitions, 1, 1000, "Trials per reported figure");
  Duration light_load = std::chrono::seconds(options.light_load_s);
  more.Seconds("--light-load", light_load, Duration::zero(), std::chrono::hours(1000),
               "Time for which each contender gets one change a second; 0s leaves that out");
  more.Seed(options.seed, "The same seed gives the same load");
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  options.light_load_s =
      static_cast<std::size_t>(std::chrono::ceil<std::chrono::seconds>(light_load).count());
  if (!ReadStores(kProgram, stores, options.stores) ||
      !ReadStores(kProgram, variants, options.variants) || !ReadWriters(writers, options.writers) ||
      !ReadPolicies(policies, options.policies)) {
    return kBadOptions;
  }
  return command;
}

}  // namespace stout::bench
