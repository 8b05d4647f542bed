// shard-load: load that does not wait for a shard server, and what it does to the server.

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <stdexcept>

#include "load/command_line.h"
#include "load/json.h"
#include "program/command_line.h"
#include "shard/lineitem.h"
#include "shard/load/load_run.h"
#include "shard/load/load_settings.h"

namespace stout::bench::shard {
namespace {

ExitCode ExitCodeOf(const LoadSummary& summary) {
  if (summary.interrupted) return kInterrupted;
  return summary.lost.empty() && summary.total.failed == 0 ? kOk : kFailed;
}

Oracle ReadData(const LoadSettings& settings) {
  const auto keep =
      settings.requests.operations == Operations::kGet ? Oracle::Keep::kKeys : Oracle::Keep::kAll;
  Lineitem records(settings.data);
  if (!settings.placement) return Oracle(records, keep);
  PlacedRecords placed(records, *settings.placement);
  return Oracle(placed, keep);
}

ExitCode Execute(const LoadSettings& settings) {
  std::ofstream file;
  if (settings.csv != "-") {
    file.open(settings.csv);
    if (!file) throw std::runtime_error("--csv: cannot write " + settings.csv);
  }
  std::ostream& csv = settings.csv == "-" ? std::cout : file;
  const Oracle oracle = ReadData(settings);
  const LoadSummary summary = RunLoad(settings, oracle, csv);
  if (!summary.lost.empty()) fmt::print(stderr, "shard-load: {}\n", summary.lost);
  if (summary.seconds > 0) fmt::print(stderr, "{}", ToText(summary));
  if (!csv) throw std::runtime_error("--csv: cannot write all of it");
  if (!settings.json.empty()) WriteFile(settings.json, ToJson(summary));
  return ExitCodeOf(summary);
}

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  return stout::program::RunCommand(
      "shard-load", [&] { return ParseLoadSettings(argc, argv); }, Execute);
}
