// shard-data: writes the records of the shard server's benchmarks as a delimited file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "load/command_line.h"
#include "program/command_line.h"
#include "program/options.h"
#include "program/progress_line.h"
#include "shard/data_options.h"
#include "shard/delimited_file.h"
#include "shard/kinds.h"
#include "shard/lineitem.h"
#include "shard/placed_records.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kDescription =
    "Writes the data of the shard server's benchmarks: records like those of TPC-H's lineitem "
    "table, one per line, with '|' between attributes. The same size and seed give the same bytes "
    "on every machine.";

struct Command {
  LineitemOptions data;
  std::string kind;  // of MadeValues; empty: line items
  std::string out;
  std::string keys;
  LineFormat format = LineFormat::kTable;
  std::optional<Placement> placement;
};

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CLI::App app(kDescription, "shard-data");
  AddDataOptions(app, command.data, "--seed");
  CLI::Option* const kind =
      app.add_option("--kind", command.kind, "Values without attributes instead of line items")
          ->check(CLI::IsMember(MadeValues::Kinds()));
  program::Options options(app);
  options.Text("--out", command.out, "The file to write; - is stdout", "FILE")->required();
  options.Text("--keys", command.keys,
               "Also write the keys to this file: 8 bytes each, big-endian, without separators",
               "FILE");
  options.Choice<LineFormat>(
      "--format", command.format,
      {{"tbl", LineFormat::kTable}, {"keyed", LineFormat::kKeyed}, {"set", LineFormat::kSet}},
      "tbl: the attributes; keyed: the key as a decimal number, then the "
      "attributes; set: commands for redis-cli --pipe, with binary keys");
  AddPlacement(app, command.placement)->excludes(kind);
  const auto check = [&command] {
    return command.kind == "random" && command.format != LineFormat::kSet
               ? "--kind random has line breaks: add --format set"
               : "";
  };
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv, check)) {
    return *end;
  }
  return command;
}

void Check(const std::ostream& stream, const std::string& file) {
  if (!stream) throw std::runtime_error("cannot write " + file);
}

std::ofstream Create(const std::string& file) {
  std::ofstream stream(file, std::ios::binary);
  Check(stream, file);
  return stream;
}

Written WriteWithProgress(RecordSource& records, const Command& command, std::ostream& lines,
                          std::ostream* keys) {
  const program::ProgressLine progress("shard-data");
  return WriteLines(records, command.format, lines, keys, [&](const Written& written) {
    progress.Show(fmt::format("{} records, {} %", written.records,
                              100 * written.value_bytes / command.data.bytes));
  });
}

ExitCode Execute(const Command& command) {
  std::optional<std::ofstream> file;
  if (command.out != "-") file = Create(command.out);
  std::optional<std::ofstream> keys;
  if (!command.keys.empty()) keys = Create(command.keys);
  std::ostream& lines = file ? *file : std::cout;

  Lineitem lineitem(command.data);
  std::unique_ptr<RecordSource> other;
  if (command.placement) other = std::make_unique<PlacedRecords>(lineitem, *command.placement);
  if (!command.kind.empty()) other = std::make_unique<MadeValues>(command.kind, command.data);
  RecordSource& records = other ? *other : lineitem;
  const Written written = WriteWithProgress(records, command, lines, keys ? &*keys : nullptr);
  Check(lines.flush(), command.out);
  if (keys) Check(keys->flush(), command.keys);
  fmt::print(stderr, "{} records, {} bytes of values\n", written.records, written.value_bytes);
  return kOk;
}

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  return stout::program::RunCommand(
      "shard-data", [&] { return Parse(argc, argv); }, Execute);
}
