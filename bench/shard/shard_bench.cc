// shard-bench: what keeps a shard's records, side by side: space, gets, searches.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "load/command_line.h"
#include "load/json.h"
#include "program/command_line.h"
#include "program/options.h"
#include "program/progress_line.h"
#include "shard/comparison.h"
#include "shard/data_options.h"
#include "shard/kinds.h"
#include "shard/report.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kDescription =
    "Compares data structures that can keep the records of a shard: their size, gets by key, "
    "searches by attribute and value, and searches for substrings. Checks each peer against brute "
    "force first. Then all peers "
    "take turns at the same batches, on one thread.";

constexpr const char* kFooter =
    "With zipf:EXPONENT the i-th most frequent key or value is chosen in proportion to "
    "1 / i^EXPONENT. A skewness of 0.01 in the BlowFish paper is zipf:0.99.\n"
    "Exit codes: 0 done; 1 failed, or a peer gave a wrong answer; 2 wrong options.";

struct Command {
  CompareOptions compare;
  std::string json_file;
};

// `kind` excludes the options of searches.
void AddLoad(CLI::App& app, CompareOptions& options, Duration& longest, CLI::Option* kind) {
  AddDistribution(app, options.distribution);
  app.add_option("--classes", options.classes, "Searches: attributes, or mix8")
      ->check(CLI::Validator(IsSearchClass, ""))
      ->type_name("CLASS...")
      ->excludes(kind)
      ->capture_default_str();
  program::Options more(app);
  more.Count("--gets", options.gets, 1, program::kMaxCount, "Gets in a batch");
  more.Count("--depth", options.depth, 1, 10'000, "Gets at once, for peers that can do several");
  more.Count("--searches", options.searches.searches, 1, program::kMaxCount,
             "Maximum searches in a batch")
      ->excludes(kind);
  more.Count("--hits", options.searches.hits, 0, program::kNoMax,
             "Maximum records that a batch of searches finds")
      ->excludes(kind);
  more.Count("--substrings", options.substrings.searches, 0, 10'000,
             "Searches for a substring in a batch: 12 bytes that at most 1000 values have");
  more.Count("--repeats", options.repeats, 1, 1000, "Runs of each batch");
  more.Seconds("--longest", longest, Duration::zero(), std::chrono::seconds(1'000'000),
               "Longest run of a batch; a slower peer runs a part of the batch each time");
}

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CompareOptions& options = command.compare;
  CLI::App app(kDescription, "shard-bench");
  app.footer(kFooter);
  AddDataOptions(app, options.data);
  CLI::Option* const kind =
      app.add_option("--kind", options.kind,
                     "Values without attributes instead of line items; only gets and searches for "
                     "substrings are measured")
          ->check(CLI::IsMember(MadeValues::Kinds()));
  program::Options more(app);
  more.Seed(options.seed, "The same seed gives the same queries");
  app.add_option("--peers", options.peers, "Peers to compare")
      ->check(CLI::Validator(IsPeer, ""))
      ->type_name("PEER...")
      ->capture_default_str();
  more.Text("--scratch", options.peer_options.scratch,
            "A directory for files; without it the peers that need files are left out",
            "DIRECTORY");
  more.Text("--redis", options.peer_options.redis,
            "A Redis without keys; without it this peer is left out", "HOST:PORT");
  Duration longest = std::chrono::round<Duration>(std::chrono::duration<double>(options.longest_s));
  AddLoad(app, options, longest, kind);
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  options.longest_s = std::chrono::duration<double>(longest).count();
  return command;
}

Comparison CompareWithProgress(const CompareOptions& options) {
  const program::ProgressLine progress("shard-bench");
  return Compare(options, [&](const std::string& step) { progress.Step(step); });
}

ExitCode Execute(const Command& command) {
  const Comparison comparison = CompareWithProgress(command.compare);
  if (!command.json_file.empty()) {
    WriteFile(command.json_file, ToJson(command.compare, comparison));
  }
  if (command.json_file != "-") fmt::print("{}", ToText(comparison));
  return kOk;
}

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  return stout::program::RunCommand(
      "shard-bench", [&] { return Parse(argc, argv); }, Execute);
}
