// shard-bench: what keeps a shard's records, side by side: space, gets, searches.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <variant>

#include "load/command_line.h"
#include "load/json.h"
#include "load/workload.h"
#include "shard/comparison.h"
#include "shard/report.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kDescription =
    "Compares what can keep the records of a shard: bytes, gets by key, searches by (attribute, "
    "value). Each is first checked against brute force; then all take turns at the same batches, "
    "on "
    "one thread.";

constexpr const char* kFooter =
    "Skew is zipf:EXPONENT, where the i-th most frequent key or value has a share of 1 / "
    "i^EXPONENT. What the BlowFish paper calls a skewness of 0.01 is zipf:0.99.\n"
    "Exit status: 0 done; 1 failed, or a wrong answer; 2 bad options.";

struct Command {
  CompareOptions compare;
  std::string json_file;
};

void AddData(CLI::App& app, CompareOptions& options) {
  app.add_option("--size", options.data.bytes, "Bytes of all values together")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 38))
      ->default_str("64MiB");
  app.add_option("--data-seed", options.data.seed, "Same seed, same records")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same seed, same queries")->capture_default_str();
}

void AddLoad(CLI::App& app, CompareOptions& options) {
  app.add_option_function<std::string>(
         "--distribution",
         [&options](const std::string& text) {
           const auto parsed = load::ParseDistribution(text);
           if (!parsed) {
             throw CLI::ValidationError("--distribution",
                                        fmt::format("'{}' is neither uniform nor zipf:0.99", text));
           }
           options.distribution = *parsed;
         },
         "Of keys, and of the values searched for: uniform or zipf:EXPONENT")
      ->default_str("uniform");
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
}

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CompareOptions& options = command.compare;
  CLI::App app(kDescription, "shard-bench");
  app.footer(kFooter);
  AddData(app, options);
  app.add_option("--peers", options.peers, "Which ones")
      ->check(CLI::IsMember(PeerNames()))
      ->type_name("PEER...")
      ->capture_default_str();
  app.add_option("--scratch", options.peer_options.scratch,
                 "A directory for the files of RocksDB, which is left out without one")
      ->type_name("DIRECTORY");
  app.add_option("--redis", options.peer_options.redis,
                 "A Redis without keys, which is left out without one")
      ->type_name("HOST:PORT");
  AddLoad(app, options);
  app.add_option("--json", command.json_file, "Write the results here, too; - is standard output")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kBadOptions;
  }
  return command;
}

/// One line that changes, for a person at the terminal.
class Progress {
 public:
  Progress() = default;
  ~Progress() { Show(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& step) const {
    if (terminal_) fmt::print(stderr, "\r{:78}\r{}", "", step);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

Comparison CompareWithProgress(const CompareOptions& options) {
  const Progress progress;
  return Compare(options, [&](const std::string& step) { progress.Show(step); });
}

ExitCode Execute(const Command& command) {
  const Comparison comparison = CompareWithProgress(command.compare);
  if (!command.json_file.empty()) {
    WriteFile(command.json_file, ToJson(command.compare, comparison));
  }
  if (command.json_file != "-") fmt::print("{}", ToText(comparison));
  return kOk;
}

ExitCode Execute(ExitCode code) { return code; }

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  try {
    return std::visit([](const auto& command) { return Execute(command); }, Parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "shard-bench: {}\n", error.what());
    return stout::bench::kFailed;
  }
}
