// shard-layers: what the layers of a shard cost while they come and go.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "load/command_line.h"
#include "load/json.h"
#include "load/progress_line.h"
#include "shard/data_options.h"
#include "shard/layers/layer_costs.h"
#include "shard/lineitem.h"
#include "shard/oracle_records.h"
#include "shard/peers/built_store.h"
#include "stout/sim/json_text.h"

namespace stout::bench::shard {
namespace {

namespace json = boost::json;

constexpr const char* kDescription =
    "Measures what the layers of a shard's sampled arrays cost while they come and go: filling all "
    "of them, removing them while others read, and reads that fill what they find empty.";

struct Command {
  LineitemOptions data;
  LayerCostOptions costs;
  std::string scratch;
  std::string json_file;
};

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  LayerCostOptions& costs = command.costs;
  CLI::App app(kDescription, "shard-layers");
  AddDataOptions(app, command.data);
  app.add_option("--scratch", command.scratch, "A directory for the compressed file")
      ->required()
      ->type_name("DIRECTORY");
  app.add_option("--threads", costs.threads, "How many threads fill, one after the other")
      ->check(CLI::Range(1, 1000))
      ->type_name("N...")
      ->capture_default_str();
  app.add_option("--readers", costs.readers, "Threads that read while layers are removed")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--rounds", costs.rounds, "Times that all layers are removed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--operations", costs.operations, "Gets of a batch; searches are a tenth")
      ->check(CLI::Range(100, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--repeats", costs.repeats, "Times that each batch is run")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", costs.seed, "Same seed, same queries")->capture_default_str();
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = ReadArguments(app, argc, argv)) return *end;
  return command;
}

double Overhead(const LayerCosts::Opportunism& learned) {
  return learned.filling_ns / learned.without_ns - 1;
}

std::string ToJson(const LayerCosts& costs, std::uint64_t raw_bytes) {
  json::array filling;
  for (const LayerCosts::Filling& fill : costs.filling) {
    filling.push_back({{"threads", fill.threads}, {"s", Rounded(fill.seconds)}});
  }
  json::array opportunism;
  for (const LayerCosts::Opportunism& learned : costs.opportunism) {
    opportunism.push_back({{"name", learned.name},
                           {"layer_of", learned.layer_of},
                           {"without_ns", Rounded(learned.without_ns)},
                           {"filling_ns", Rounded(learned.filling_ns)},
                           {"overhead", Rounded(Overhead(learned))}});
  }
  const json::object document{{"format", "stout shard-layers 1"},
                              {"when", UtcNow()},
                              {"raw_bytes", raw_bytes},
                              {"layer_bytes", costs.bytes},
                              {"filling", std::move(filling)},
                              {"removal",
                               {{"layers", costs.removal.layers},
                                {"mean_ms", Rounded(costs.removal.mean_ms)},
                                {"most_ms", Rounded(costs.removal.most_ms)},
                                {"reads", costs.removal.reads},
                                {"wrong", costs.removal.wrong}}},
                              {"opportunism", std::move(opportunism)}};
  return sim::JsonText(document, 2);
}

void Print(const LayerCosts& costs, std::uint64_t raw_bytes) {
  fmt::print("all layers: {} bytes, {:.3f} of raw\n", costs.bytes,
             static_cast<double>(costs.bytes) / static_cast<double>(raw_bytes));
  for (const LayerCosts::Filling& fill : costs.filling) {
    fmt::print("filled by {} thread(s): {:.2f} s\n", fill.threads, fill.seconds);
  }
  fmt::print("removed {} layers among {} reads, {} wrong: freed after {:.3f} ms, {:.3f} at most\n",
             costs.removal.layers, costs.removal.reads, costs.removal.wrong, costs.removal.mean_ms,
             costs.removal.most_ms);
  fmt::print("\n{:<16}{:<10}{:>12}{:>12}{:>10}\n", "", "layer of", "ns without", "ns filling", "");
  for (const LayerCosts::Opportunism& learned : costs.opportunism) {
    fmt::print("{:<16}{:<10}{:>12.0f}{:>12.0f}{:>+9.1f}%\n", learned.name, learned.layer_of,
               learned.without_ns, learned.filling_ns, 100 * Overhead(learned));
  }
}

LayerCosts Measure(const Command& command, const Oracle& oracle) {
  const ProgressLine progress("shard-layers");
  progress.Step("building");
  OracleRecords records(oracle);
  blowfish::ReclaimDomain domain;
  const auto store = BuildStore(records, command.scratch + "/shard-layers", domain);
  progress.Step("measuring");
  return MeasureLayers(store->index(), domain, oracle, command.costs);
}

ExitCode Execute(const Command& command) {
  Lineitem lineitem(command.data);
  const Oracle oracle(lineitem);
  const LayerCosts costs = Measure(command, oracle);
  if (!command.json_file.empty()) {
    WriteFile(command.json_file, ToJson(costs, oracle.raw_bytes()));
  }
  if (command.json_file != "-") Print(costs, oracle.raw_bytes());
  if (costs.removal.wrong == 0) return kOk;
  fmt::print(stderr, "shard-layers: wrong answers\n");
  return kFailed;
}

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  return stout::bench::RunCommand(
      "shard-layers", [&] { return Parse(argc, argv); }, Execute);
}
