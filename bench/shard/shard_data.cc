// shard-data: writes the records of the shard server's benchmarks as a delimited file.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "load/command_line.h"
#include "shard/delimited_file.h"
#include "shard/lineitem.h"
#include "shard/placed_records.h"

namespace stout::bench::shard {
namespace {

constexpr const char* kDescription =
    "Writes records like those of TPC-H's lineitem table, one a line, attributes between '|': the "
    "data of the shard server's benchmarks. The same size and seed give the same bytes everywhere.";

const std::map<std::string, LineFormat> kFormats = {{"tbl", LineFormat::kTable},
                                                    {"keyed", LineFormat::kKeyed}};

struct Command {
  LineitemOptions data;
  std::string out;
  std::string keys;
  LineFormat format = LineFormat::kTable;
  std::optional<Placement> placement;
};

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CLI::App app(kDescription, "shard-data");
  app.add_option("--size", command.data.bytes, "Bytes of all values together")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB");
  app.add_option("--seed", command.data.seed, "Same seed, same records")->capture_default_str();
  app.add_option("--out", command.out, "Where to; - is the standard output")
      ->required()
      ->type_name("FILE");
  app.add_option("--keys", command.keys,
                 "The keys, too: 8 bytes each, the highest first, one behind the other")
      ->type_name("FILE");
  app.add_option("--format", command.format,
                 "tbl: the attributes; keyed: before them the key, as a decimal number")
      ->transform(CLI::CheckedTransformer(kFormats))
      ->default_str("tbl");
  app.add_option_function<std::string>(
         "--placed-by",
         [&command](const std::string& text) {
           command.placement = ParsePlacement(text, Lineitem::GetSchema());
           if (!command.placement) {
             throw CLI::ValidationError(
                 "--placed-by",
                 fmt::format("'{}' is not ATTRIBUTE:SHARDS, such as partkey:3", text));
           }
         },
         "With keys by which a blowfish-server of so many shards has the records of a value of "
         "this "
         "attribute on one of them")
      ->type_name("ATTRIBUTE:SHARDS");
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
  explicit Progress(std::uint64_t bytes) : bytes_(bytes) {}

  void operator()(const Written& written) const {
    if (!terminal_) return;
    fmt::print(stderr, "\r{} records, {} %", written.records, 100 * written.value_bytes / bytes_);
  }
  void End() const {
    if (terminal_) fmt::print(stderr, "\r{:40}\r", "");
  }

 private:
  const std::uint64_t bytes_;
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
};

void Check(const std::ostream& stream, const std::string& file) {
  if (!stream) throw std::runtime_error("cannot write " + file);
}

std::ofstream Create(const std::string& file) {
  std::ofstream stream(file, std::ios::binary);
  Check(stream, file);
  return stream;
}

ExitCode Execute(const Command& command) {
  std::optional<std::ofstream> file;
  if (command.out != "-") file = Create(command.out);
  std::optional<std::ofstream> keys;
  if (!command.keys.empty()) keys = Create(command.keys);
  std::ostream& lines = file ? *file : std::cout;

  Lineitem lineitem(command.data);
  std::optional<PlacedRecords> placed;
  if (command.placement) placed.emplace(lineitem, *command.placement);
  RecordSource& records = placed ? static_cast<RecordSource&>(*placed) : lineitem;
  const Progress progress(command.data.bytes);
  const Written written =
      WriteLines(records, command.format, lines, keys ? &*keys : nullptr, progress);
  progress.End();
  Check(lines.flush(), command.out);
  if (keys) Check(keys->flush(), command.keys);
  fmt::print(stderr, "{} records, {} bytes of values\n", written.records, written.value_bytes);
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
    fmt::print(stderr, "shard-data: {}\n", error.what());
    return stout::bench::kFailed;
  }
}
