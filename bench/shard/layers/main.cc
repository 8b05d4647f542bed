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
#include "program/command_line.h"
#include "program/options.h"
#include "program/progress_line.h"
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
    "Measures the cost of the layers of a shard's sampled arrays while layers come and go: filling "
    "all of them, removing them between reads, and reads that fill empty layers.";

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
  program::Options more(app);
  more.Text("--scratch", command.scratch, "A directory for the compressed file", "DIRECTORY")
      ->required();
  more.Count("--rounds", costs.rounds, 1, 1'000'000, "Times that all layers are removed");
  more.Count("--reads", costs.reads, 0, program::kMaxCount, "Gets between two removals");
  more.Count("--operations", costs.operations, 100, program::kMaxCount,
             "Gets in a batch; searches are a tenth of them");
  more.Count("--repeats", costs.repeats, 1, 1000, "Runs of each batch");
  more.Seed(costs.seed, "The same seed gives the same queries");
  AddJson(app, command.json_file);
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  return command;
}

double Overhead(const LayerCosts::Opportunism& learned) {
  return learned.filling_ns / learned.without_ns - 1;
}

std::string ToJson(const LayerCosts& costs, std::uint64_t raw_bytes) {
  json::array filling;
  for (const LayerCosts::Filling& fill : costs.filling) {
    filling.push_back({{"by", fill.by},
                       {"reads", fill.reads},
                       {"s", Rounded(fill.seconds)},
                       {"filled", Rounded(fill.filled)}});
  }
  json::array opportunism;
  for (const LayerCosts::Opportunism& learned : costs.opportunism) {
    opportunism.push_back({{"name", learned.name},
                           {"layer_of", learned.layer_of},
                           {"without_ns", Rounded(learned.without_ns)},
                           {"filling_ns", Rounded(learned.filling_ns)},
                           {"overhead", Rounded(Overhead(learned))}});
  }
  const json::object document{{"format", "stout shard-layers 2"},
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
    fmt::print("{}: {} reads in {:.2f} s filled {:.1f} %\n", fill.by, fill.reads, fill.seconds,
               100 * fill.filled);
  }
  fmt::print("removed {} layers between {} reads, {} wrong: in {:.3f} ms, {:.3f} at most\n",
             costs.removal.layers, costs.removal.reads, costs.removal.wrong, costs.removal.mean_ms,
             costs.removal.most_ms);
  fmt::print("\n{:<16}{:<10}{:>12}{:>12}{:>10}\n", "", "layer of", "ns without", "ns filling", "");
  for (const LayerCosts::Opportunism& learned : costs.opportunism) {
    fmt::print("{:<16}{:<10}{:>12.0f}{:>12.0f}{:>+9.1f}%\n", learned.name, learned.layer_of,
               learned.without_ns, learned.filling_ns, 100 * Overhead(learned));
  }
}

LayerCosts Measure(const Command& command, const Oracle& oracle) {
  const program::ProgressLine progress("shard-layers");
  progress.Step("building");
  OracleRecords records(oracle);
  const auto store = BuildStore(records, command.scratch + "/shard-layers");
  progress.Step("measuring");
  return MeasureLayers(store->index(), oracle, command.costs);
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
  return stout::program::RunCommand(
      "shard-layers", [&] { return Parse(argc, argv); }, Execute);
}
