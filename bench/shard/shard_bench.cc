// shard-bench: what keeps a shard's records, side by side: space, gets, searches.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <variant>

#include "load/command_line.h"
#include "load/json.h"
#include "load/progress_line.h"
#include "shard/comparison.h"
#include "shard/data_options.h"
#include "shard/report.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kDescription =
    "Compares what can keep the records of a shard: bytes, gets by key, searches by (attribute, "
    "value). Each is first checked against brute force; then all take turns at the same batches, "
    "on one thread.";

constexpr const char* kFooter =
    "Skew is zipf:EXPONENT, where the i-th most frequent key or value has a share of 1 / "
    "i^EXPONENT. What the BlowFish paper calls a skewness of 0.01 is zipf:0.99.\n"
    "Exit status: 0 done; 1 failed, or a wrong answer; 2 bad options.";

struct Command {
  CompareOptions compare;
  std::string json_file;
};

void AddLoad(CLI::App& app, CompareOptions& options) {
  AddDistribution(app, options.distribution);
  app.add_option("--classes", options.classes, "Searches: attributes, or mix8")
      ->type_name("CLASS...")
      ->capture_default_str();
  app.add_option("--gets", options.gets, "Gets of a batch")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--depth", options.depth, "Gets at once, where several are")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--searches", options.searches.searches, "Most searches of a batch")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--hits", options.searches.hits, "Records that a batch of searches finds at most")
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "Times that each batch is run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--longest", options.longest_s,
                 "Seconds of a batch at most; a peer that is slower runs a part of it each time")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CompareOptions& options = command.compare;
  CLI::App app(kDescription, "shard-bench");
  app.footer(kFooter);
  AddDataOptions(app, options.data);
  app.add_option("--seed", options.seed, "Same seed, same queries")->capture_default_str();
  app.add_option("--peers", options.peers, "Which ones")
      ->check(CLI::Validator(IsPeer, ""))
      ->type_name("PEER...")
      ->capture_default_str();
  app.add_option("--scratch", options.peer_options.scratch,
                 "A directory for the files of ours and of RocksDB, which are left out without one")
      ->type_name("DIRECTORY");
  app.add_option("--redis", options.peer_options.redis,
                 "A Redis without keys, which is left out without one")
      ->type_name("HOST:PORT");
  AddLoad(app, options);
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = ReadArguments(app, argc, argv)) return *end;
  return command;
}

Comparison CompareWithProgress(const CompareOptions& options) {
  const ProgressLine progress("shard-bench");
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
  return stout::bench::RunCommand(
      "shard-bench", [&] { return Parse(argc, argv); }, Execute);
}
