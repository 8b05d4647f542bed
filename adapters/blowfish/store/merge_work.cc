#include "blowfish/store/merge_work.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "blowfish/index/cut_choice.h"
#include "blowfish/store/layer_ladder.h"
#include "blowfish/store/store_failures.h"

namespace stout::blowfish {
namespace {

/// A stop may take a tenth of a second.
constexpr std::uint32_t kFillAtOnce = 1 << 14;

// Nobody else has the store yet.
void AddFullLayers(SuccinctStore& to, std::size_t layers, const std::stop_token& stop) {
  LayerLadder ladder(to.index());
  while (ladder.layers() < layers && ladder.Add()) {
  }
  if (ladder.layers() == 0) return;
  for (std::uint32_t first = 0; first < to.records() && !stop.stop_requested();) {
    const std::uint32_t last = std::min(to.records(), first + kFillAtOnce);
    to.index().FillLayers(first, last);
    first = last;
  }
}

// Unless it is kept, a file goes with it.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!kept_) (void)::unlink(path_.c_str());  // a later removal of strays finds the rest
  }
  void Keep() { kept_ = true; }

 private:
  const std::string path_;
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

double MergeWork::SymbolsPerByte() const {
  if (!oldest || oldest->texts().value_bytes() == 0) return 1;
  const RecordTexts& texts = oldest->texts();
  return static_cast<double>(texts.symbols()) / static_cast<double>(texts.value_bytes());
}

std::uint64_t MergeWork::EstimateBytes() const {
  std::uint64_t records = oldest ? oldest->records() : 0;
  std::uint64_t bytes = oldest ? oldest->texts().value_bytes() : 0;
  for (const auto& store : newer) {
    records += store->size();
    bytes += store->text_bytes();
  }
  return EstimateMergeBytes(records, bytes, SymbolsPerByte());
}

Result<MergedStore> MergeWork::Run(const std::stop_token& stop, Diagnostics* diagnostics) const {
  const std::string path = directory + "/" + name;
  NewFile file(path);
  const auto merged = Merge(oldest.get(), newer, schema, path,
                            {forget_before_ms, max_value_bytes, stop}, diagnostics);
  if (!merged) return merged.error();
  auto opened = SuccinctStore::Open(path, Verify::kHeader, diagnostics);
  if (!opened) return opened.error();
  MergedStore result{std::move(*opened), name, *merged};
  AddFullLayers(*result.store, layers, stop);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  file.Keep();
  return result;
}

}  // namespace stout::blowfish
