// shard-files: what the number of a shard's compressed files costs its gets.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/succinct_stores.h"
#include "load/command_line.h"
#include "program/command_line.h"
#include "program/options.h"
#include "shard/data_options.h"
#include "shard/lineitem.h"
#include "shard/timing.h"
#include "stout/core/random.h"

namespace stout::bench::shard {
namespace {

using blowfish::Record;
using blowfish::SuccinctStores;

constexpr const char* kDescription =
    "Measures the cost of the number of a shard's compressed files: gets of missing keys, of keys "
    "in the oldest file and of any keys, and what a worker does in each of its turns. The records "
    "are line items with keys that look random, distributed over the files in turns.";

struct Command {
  LineitemOptions data;
  std::vector<std::size_t> files = {1, 8, 30};
  std::size_t layers = 3;
  std::size_t operations = 100'000;
  std::size_t repeats = 5;
  std::string scratch;
};

std::variant<Command, ExitCode> Parse(int argc, const char* const* argv) {
  Command command;
  CLI::App app(kDescription, "shard-files");
  AddDataOptions(app, command.data);
  program::Options more(app);
  more.Text("--scratch", command.scratch, "A directory for the compressed files", "DIRECTORY")
      ->required();
  app.add_option("--files", command.files, "Numbers of files")
      ->type_name("COUNT...")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  more.Count("--layers", command.layers, 0, 100, "Layers of each file");
  more.Count("--operations", command.operations, 1, program::kMaxCount, "Gets in a batch");
  more.Count("--repeats", command.repeats, 1, 1000, "Runs of each batch; the best one counts");
  if (const std::optional<ExitCode> end = program::ReadArguments(app, argc, argv)) return *end;
  return command;
}

// The same number gives the same key.
std::string KeyOf(std::uint64_t number) {
  return fmt::format("user:{:016x}", SplitMix64(number).Next());
}

// The files of a shard, and the keys of each.
struct Shard {
  SuccinctStores stores;
  std::vector<std::vector<std::string>> keys;
};

using KeptRecord = std::pair<std::string, std::string>;

std::vector<KeptRecord> ReadRecords(const LineitemOptions& data) {
  std::vector<KeptRecord> records;
  Lineitem lineitem(data);
  while (const auto record = lineitem.Next()) {
    records.emplace_back(KeyOf(records.size()), record->value);
  }
  return records;
}

Shard Build(const std::vector<KeptRecord>& records, std::size_t files, const Command& command) {
  const std::string directory = command.scratch + "/shard-files";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  Shard shard{.stores = {}, .keys = std::vector<std::vector<std::string>>(files)};
  for (std::size_t file = 0; file < files; ++file) {
    std::vector<const KeptRecord*> part;
    for (std::size_t i = file; i < records.size(); i += files) part.push_back(&records[i]);
    std::ranges::sort(part, {}, [](const KeptRecord* record) { return record->first; });
    blowfish::SuccinctStoreWriter writer(Lineitem::GetSchema());
    for (const KeptRecord* const record : part) {
      writer.Append(Record{record->first, {}, record->second});
      shard.keys[file].push_back(record->first);
    }
    const std::string name = fmt::format("records-{}", file);
    const std::string path = fmt::format("{}/{}", directory, name);
    Diagnostics why;
    if (writer.Finish(path, &why)) throw std::runtime_error(why.message);
    auto store = blowfish::SuccinctStore::Open(path, blowfish::Verify::kEverything, &why);
    if (!store) throw std::runtime_error(why.message);
    shard.stores.Add({name, std::move(*store)});
  }
  const auto layers = static_cast<std::uint32_t>(command.layers);
  for (blowfish::NewLayers& ordered : shard.stores.OrderLayers(
           {.of_indexes = layers, .of_blocks = layers}, blowfish::LayerFilling::kDedicated)) {
    ordered.Fill({});
    shard.stores.Install(std::move(ordered));
  }
  return shard;
}

class Measurement {
 public:
  Measurement(Shard& shard, const Command& command) : shard_(shard), command_(command) {}

  void Run() {
    const std::vector<std::vector<std::string>>& keys = shard_.keys;
    std::vector<std::string> missing, oldest, any;
    for (std::size_t i = 0; i < command_.operations; ++i) {
      missing.push_back(KeyOf((std::uint64_t{1} << 60) + i));
      oldest.push_back(AnyOf(keys.front()));
      any.push_back(AnyOf(keys[random_.Below(keys.size())]));
    }
    fmt::print("{:>5}{:>14}{:>13}{:>12}{:>12}{:>12}{:>12}\n", keys.size(), Find(missing),
               Find(oldest), Find(any), Get(oldest), Get(any), Turn());
  }

 private:
  const std::string& AnyOf(const std::vector<std::string>& keys) {
    return keys[random_.Below(keys.size())];
  }

  // Nanoseconds of the processor for each operation, in the best batch.
  long Measure(std::size_t calls, const Call& call) const {
    const Timing timing = MeasureInTurns({call}, {.calls = calls}, command_.repeats).front();
    return std::lround(1e9 / timing.BestPerCpuSecond());
  }

  long Find(const std::vector<std::string>& keys) const {
    return Measure(keys.size(), [&](std::size_t i) {
      if (shard_.stores.Find(keys[i])) ++found_;
    });
  }

  long Get(const std::vector<std::string>& keys) const {
    return Measure(keys.size(), [&](std::size_t i) {
      const SuccinctStores::Place place = *shard_.stores.Find(keys[i])->place;
      shard_.stores.Read(std::span(&place, 1), [&](std::size_t, Stamp, std::string_view value) {
        found_ += value.size();
      });
    });
  }

  // The part of ShardWorker::Publish() that depends on the files.
  long Turn() const {
    return Measure(command_.operations, [&](std::size_t) {
      const SuccinctStores& stores = shard_.stores;
      found_ += stores.records() + stores.file_bytes() + stores.layers() + stores.layer_bytes() +
                stores.next_layer_bytes().front() + stores.finest_layer_bytes() + stores.filling();
    });
  }

  Shard& shard_;
  const Command& command_;
  SplitMix64 random_{1};
  mutable std::uint64_t found_ = 0;  // so that no call is optimised away
};

ExitCode Execute(const Command& command) {
  const std::vector<KeptRecord> records = ReadRecords(command.data);
  const std::size_t most = std::ranges::max(command.files);
  if (records.size() < most) {
    throw std::runtime_error(
        fmt::format("--files: {} files need as many records, and there are {}: raise --size", most,
                    records.size()));
  }
  fmt::print("nanoseconds of the processor; {} records\n", records.size());
  fmt::print("{:>5}{:>14}{:>13}{:>12}{:>12}{:>12}{:>12}\n", "files", "find missing", "find oldest",
             "find any", "get oldest", "get any", "turn");
  for (const std::size_t files : command.files) {
    Shard shard = Build(records, files, command);
    Measurement(shard, command).Run();
  }
  return kOk;
}

}  // namespace
}  // namespace stout::bench::shard

int main(int argc, char** argv) {
  using namespace stout::bench::shard;
  return stout::program::RunCommand(
      "shard-files", [&] { return Parse(argc, argv); }, Execute);
}
