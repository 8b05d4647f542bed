#include "blowfish/store/merge_work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "blowfish/index/cut_choice.h"
#include "blowfish/store/new_layers.h"
#include "blowfish/store/shard_directory.h"
#include "blowfish/store/store_failures.h"

namespace stout::blowfish {
namespace {

/// A file may always have this many bytes of keys and values. To build such a file takes less than
/// 100 MB of memory.
constexpr std::uint64_t kMinFileBytes = std::uint64_t{4} << 20;

// Returns the memory that it takes to build a file with this many bytes of keys and values. Keys
// count twice, because they are in a vector that grows by doubling.
std::uint64_t EstimateFile(const MergeLoad& load, std::uint64_t bytes) {
  const std::uint64_t all = load.bytes();
  const double part = all == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(all);
  const auto part_of = [part](std::uint64_t number) {
    return static_cast<std::uint64_t>(part * static_cast<double>(number));
  };
  const std::uint64_t records = part_of(load.records);
  const std::uint64_t value_bytes = part_of(load.value_bytes);
  return 2 * part_of(load.key_bytes) +
         (load.encoding == Encoding::kText
              ? EstimateTextMergeBytes(records, value_bytes)
              : EstimateMergeBytes(records, value_bytes, load.symbols_per_byte));
}

// Gives a store, which nothing else uses yet, as many of its layers as there is memory for. Takes
// their bytes from `memory`, and those of the file, because filling them reads all of it.
void AddFullLayers(const std::shared_ptr<SuccinctStore>& to, std::size_t wanted,
                   std::uint64_t& memory, const std::stop_token& stop) try {
  while (wanted > 0) {
    NewLayers layers(to, wanted);
    if (layers.count() == 0) return;
    const std::uint64_t bytes = to->file_bytes() + layers.bytes();
    if (bytes <= memory) {
      memory -= bytes;
      layers.Fill(stop);
      return std::move(layers).Join(*to);
    }
    wanted = layers.count() - 1;
  }
} catch (const std::bad_alloc&) {
}

// The paths of new files. Unless they are kept, the files go with it.
class NewFiles {
 public:
  NewFiles() = default;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles() {
    if (kept_) return;
    for (const std::string& path : paths_)
      (void)::unlink(path.c_str());  // a later removal of strays finds the rest
  }
  [[nodiscard]] const std::string& Add(std::string path) {
    return paths_.emplace_back(std::move(path));
  }
  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  void Keep() { kept_ = true; }

 private:
  std::vector<std::string> paths_;
  bool kept_ = false;
};

}  // namespace

std::uint64_t EstimateMergeBytes(std::uint64_t records, std::uint64_t value_bytes,
                                 double symbols_per_byte) {
  const double symbols = symbols_per_byte * static_cast<double>(value_bytes);
  // One after the other.
  const std::uint64_t most =
      std::max(static_cast<std::uint64_t>(12 * symbols), MemoryToChooseCuts(records, value_bytes));
  return value_bytes + most + 72 * records;
}

std::uint64_t EstimateTextMergeBytes(std::uint64_t records, std::uint64_t value_bytes) {
  return 12 * value_bytes + 72 * records;
}

MergeLoad LoadOf(const MergeInput& input, Encoding encoding) {
  MergeLoad load{.encoding = encoding};
  std::uint64_t symbols = 0;
  for (const auto& file : input.files) {
    symbols += file.store->texts().symbols();
    load.records += file.store->records() + file.store->deleted_keys().size();
    load.key_bytes += file.store->keys().text_bytes() + file.store->deleted_keys().text_bytes();
    load.value_bytes += file.store->value_bytes();
  }
  if (load.value_bytes > 0)
    load.symbols_per_byte = static_cast<double>(symbols) / static_cast<double>(load.value_bytes);
  for (const auto& store : input.newer) {
    load.records += store->size();
    load.key_bytes += store->key_bytes();
    load.value_bytes += store->text_bytes() - store->key_bytes();
  }
  return load;
}

std::uint64_t LargestFile(const MergeLoad& load, std::uint64_t memory) {
  std::uint64_t fits = kMinFileBytes;
  for (std::uint64_t step = kMaxValueBytes / 2; step >= kMinFileBytes; step /= 2) {
    if (EstimateFile(load, fits + step) <= memory) fits += step;
  }
  return std::min(fits, kMaxValueBytes);
}

std::uint64_t MergeWork::EstimateBytes() const {
  const auto estimate = [this](const MergeLoad& load) {
    return EstimateFile(load, std::min(load.bytes(), max_file_bytes));
  };
  return std::max(estimate(LoadOf(input, encoding)), estimate(LoadOf(sweep, encoding)));
}

Result<Merged> MergeWork::Run(const std::stop_token& stop, Diagnostics* diagnostics) const {
  NewFiles paths;
  Merged merged;
  const MergeOptions options{forget_before_ms, max_file_bytes, encoding, stop};
  const auto merge = [&](const MergeInput& from, std::vector<MergedFile>& files) {
    // A merge reads each file whole, and not from its begin to its end.
    for (const FileToMerge& file : from.files) file.store->ReadAhead();
    const auto next_path = [&] {
      files.push_back({RecordsName(sequence, paths.size()), nullptr});
      return paths.Add(fmt::format("{}/{}", directory, files.back().name));
    };
    return Merge(from, schema, next_path, options, diagnostics);
  };
  if (const auto failed = merge(input, merged.files)) return failed;
  if (const auto failed = merge(sweep, merged.swept)) return failed;
  std::uint64_t memory = layer_memory;
  for (std::vector<MergedFile>* const files : {&merged.files, &merged.swept}) {
    if (const auto failed = Open(*files, memory, stop, diagnostics)) return failed;
  }
  paths.Keep();
  return merged;
}

ErrorCode MergeWork::Open(std::vector<MergedFile>& files, std::uint64_t& memory,
                          const std::stop_token& stop, Diagnostics* diagnostics) const {
  for (MergedFile& file : files) {
    const std::string path = fmt::format("{}/{}", directory, file.name);
    auto opened = SuccinctStore::Open(path, Verify::kHeader, diagnostics);
    if (!opened) return opened.error();
    file.store = std::move(*opened);
    AddFullLayers(file.store, layers.Of(*file.store), memory, stop);
    if (stop.stop_requested()) return FailStopped(path, diagnostics);
  }
  return {};
}

}  // namespace stout::blowfish
