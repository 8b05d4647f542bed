#include "blowfish/store/succinct_stores.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "blowfish/index/key_stream.h"
#include "blowfish/store/file_layers.h"

namespace stout::blowfish {
namespace {

/// Amount that is read to fill layers before anything else is looked at: about a millisecond.
constexpr std::uint32_t kFillRecords = 512;
constexpr std::uint64_t kFillBytes = std::uint64_t{64} << 10;
/// Likewise, of a text index: each byte can fill an entry of two layers.
constexpr std::uint64_t kFillTextBytes = std::uint64_t{16} << 10;

// The keys of one file, or those that it has deleted, for a walk through all files side by side.
struct FileKeys {
  std::size_t file;
  bool deleted;
  std::unique_ptr<KeyStream> keys;
};

// Which is behind: a queue has the least key on top, and of equal keys the newest.
bool IsBehind(const FileKeys& a, const FileKeys& b) {
  const int order = a.keys->key().compare(b.keys->key());
  return order != 0 ? order > 0 : a.file < b.file;
}

// Returns the end of the records that are read next to fill layers.
std::uint32_t EndOfFill(const SuccinctStore& store, std::uint32_t first) {
  return store.EndOfPart(first, store.text() ? kFillTextBytes : kFillBytes, kFillRecords);
}

}  // namespace

// --- Which files there are -----------------------------------------------------------------------

void SuccinctStores::Add(MergedFile file) {
  SuccinctStore& store = *file.store;
  files_.push_back({.name = std::move(file.name),
                    .store = std::move(file.store),
                    .hidden = HiddenRecords(store.records()),
                    .reader = std::make_unique<ValueReader>(store)});
  Sum();
}

void SuccinctStores::HideReplaced() {
  if (files_.size() < 2) return;
  std::vector<FileKeys> queue;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const bool deleted : {false, true}) {
      const SuccinctStore& store = *files_[i].store;
      auto keys = std::make_unique<KeyStream>(deleted ? store.deleted_keys() : store.keys(), 0);
      if (!keys->ended()) queue.push_back({i, deleted, std::move(keys)});
    }
  }
  std::ranges::make_heap(queue, IsBehind);
  std::string last;  // key
  bool any = false;
  while (!queue.empty()) {
    std::ranges::pop_heap(queue, IsBehind);
    FileKeys& least = queue.back();
    const bool replaced = any && least.keys->key() == last;
    if (replaced && !least.deleted)
      files_[least.file].hidden.Hide(static_cast<std::uint32_t>(least.keys->record()));
    if (!replaced) last = least.keys->key();
    any = true;
    least.keys->Advance();
    if (least.keys->ended()) {
      queue.pop_back();
    } else {
      std::ranges::push_heap(queue, IsBehind);
    }
  }
}

std::vector<std::shared_ptr<const SuccinctStore>> SuccinctStores::Replace(FileRun run,
                                                                          SuccinctStores others) {
  auto gone = Share(run);
  const auto at = files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(run.first),
                               files_.begin() + static_cast<std::ptrdiff_t>(run.last));
  files_.insert(at, std::make_move_iterator(others.files_.begin()),
                std::make_move_iterator(others.files_.end()));
  Sum();
  return gone;
}

void SuccinctStores::Sum() {
  sums_ = {};
  for (const File& file : files_) {
    SuccinctStore& store = *file.store;
    sums_.records += store.records();
    sums_.file_bytes += store.file_bytes();
    if (store.HasPackedBlocks()) sums_.packed_records += store.records();
    VisitLayers(store, [&](const auto& layers) {
      // A removal leaves files with fewer layers as they are.
      const auto number = static_cast<std::uint32_t>(layers.layers());
      if (number > sums_.layers.most()) sums_.finest_layer_bytes = 0;
      std::uint32_t& most =
          store.blocks() != nullptr ? sums_.layers.of_blocks : sums_.layers.of_indexes;
      most = std::max(most, number);
      if (number == sums_.layers.most()) sums_.finest_layer_bytes += layers.finest_bytes();
      sums_.layer_bytes += layers.bytes();
      sums_.next_layer_bytes += layers.next_bytes();
      sums_.filling = sums_.filling || layers.filling();
    });
  }
}

std::vector<std::string> SuccinctStores::names() const {
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  return names;
}

std::vector<FileFill> SuccinctStores::fills() const {
  std::vector<FileFill> fills;
  for (const File& file : files_) {
    const std::uint64_t records = file.store->records();
    const std::uint64_t bytes = file.store->value_bytes() + records * file.store->schema().size();
    const std::uint64_t hidden = file.hidden.count();
    fills.push_back({bytes, hidden == 0 ? bytes : bytes * (records - hidden) / records});
  }
  return fills;
}

std::uint64_t SuccinctStores::hidden() const {
  std::uint64_t hidden = 0;
  for (const File& file : files_) hidden += file.hidden.count();
  return hidden;
}

std::vector<std::shared_ptr<const SuccinctStore>> SuccinctStores::Share(FileRun run) const {
  std::vector<std::shared_ptr<const SuccinctStore>> shared;
  for (std::size_t i = run.first; i < run.last; ++i) shared.push_back(files_[i].store);
  return shared;
}

std::vector<FileToMerge> SuccinctStores::ShareToMerge(FileRun run) const {
  std::vector<FileToMerge> shared;
  for (std::size_t i = run.first; i < run.last; ++i)
    shared.push_back({files_[i].store, files_[i].hidden});
  return shared;
}

std::vector<SearchedFile> SuccinctStores::ShareToSearch() const {
  std::vector<SearchedFile> shared;
  for (const File& file : files_) shared.push_back({file.store, &file.hidden});
  return shared;
}

// --- Keys and records ----------------------------------------------------------------------------

std::optional<SuccinctStores::Found> SuccinctStores::Find(KeyView key) const {
  const std::uint64_t hash = KeyFilter::HashOf(key);
  for (std::size_t i = files_.size(); i-- > 0;) {
    const SuccinctStore& store = *files_[i].store;
    if (!store.MayHave(hash)) continue;
    if (const auto found = store.keys().Find(key)) {
      const auto record = static_cast<std::uint32_t>(*found);
      return Found{store.StampOf(record), Place{static_cast<std::uint32_t>(i), record}};
    }
    if (const auto deleted = store.deleted_keys().Find(key))
      return Found{store.TombstoneOf(*deleted).stamp, std::nullopt};
  }
  return std::nullopt;
}

void SuccinctStores::Hide(KeyView key) {
  const auto found = Find(key);
  if (found && found->place) Hide(*found->place);
}

void SuccinctStores::Read(std::span<const Place> places, const Visitor& visit) {
  if (places.size() == 1) {  // Its parts side by side: with layers, in half the time and less.
    const auto [file, record] = places.front();
    return visit(0, files_[file].store->StampOf(record), files_[file].reader->Get(record));
  }
  std::vector<std::uint32_t> records;
  std::vector<std::size_t> numbers;  // Of their places.
  for (std::uint32_t number = 0; number < files_.size(); ++number) {
    records.clear();
    numbers.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].file != number) continue;
      records.push_back(places[i].record);
      numbers.push_back(i);
    }
    if (records.empty()) continue;
    const File& file = files_[number];
    file.reader->GetAll(records, [&](std::size_t i, std::string_view value) {
      visit(numbers[i], file.store->StampOf(records[i]), value);
    });
  }
}

std::optional<std::string_view> SuccinctStores::ReadAttribute(Place place, std::size_t attribute) {
  return files_[place.file].reader->GetAttribute(place.record, attribute);
}

std::string_view SuccinctStores::ReadRange(Place place, const ByteRange& range) {
  return files_[place.file].reader->GetRange(place.record, range);
}

void SuccinctStores::Offer(std::optional<std::string_view> after, bool with_deleted,
                           const std::function<bool(KeyView)>& is_in_newer,
                           FirstKeys& first) const {
  for (std::size_t i = files_.size(); i-- > 0;) {
    const KeyDirectory& keys = files_[i].store->keys();
    const HiddenRecords& hidden = files_[i].hidden;
    keys.Scan(after ? keys.LowerBound(*after) : 0, [&](std::uint64_t record, KeyView key) {
      if (first.IsBeyond(key)) return false;
      return key == after || hidden.Has(static_cast<std::uint32_t>(record)) || first.Offer(key);
    });
    if (with_deleted) OfferDeleted(i, after, is_in_newer, first);
  }
}

void SuccinctStores::OfferDeleted(std::size_t file, std::optional<std::string_view> after,
                                  const std::function<bool(KeyView)>& is_in_newer,
                                  FirstKeys& first) const {
  const KeyDirectory& deleted = files_[file].store->deleted_keys();
  deleted.Scan(after ? deleted.LowerBound(*after) : 0, [&](std::uint64_t, KeyView key) {
    if (first.IsBeyond(key)) return false;
    return key == after || IsInNewer(key, file) || is_in_newer(key) || first.Offer(key);
  });
}

bool SuccinctStores::IsInNewer(KeyView key, std::size_t file) const {
  return std::any_of(files_.begin() + static_cast<std::ptrdiff_t>(file) + 1, files_.end(),
                     [key, hash = KeyFilter::HashOf(key)](const File& newer) {
                       return newer.store->Has(key, hash);
                     });
}

// --- Layers --------------------------------------------------------------------------------------

bool SuccinctStores::AddLayer() {
  const std::uint64_t before = layer_bytes();
  const LayerNumbers had = sums_.layers;
  SetLayers({had.of_indexes + 1, had.of_blocks + 1});
  return layer_bytes() > before;
}

bool SuccinctStores::RemoveLayer() {
  if (layers() == 0) return false;
  const std::uint32_t wanted = sums_.layers.most() - 1;
  SetLayers({std::min(sums_.layers.of_indexes, wanted), std::min(sums_.layers.of_blocks, wanted)});
  return true;
}

void SuccinctStores::SetLayers(LayerNumbers wanted) {
  const LayerNumbers before = sums_.layers;
  try {
    for (File& file : files_) {
      if (blowfish::SetLayers(*file.store, wanted.Of(*file.store))) file.filled_through = 0;
    }
  } catch (const std::bad_alloc&) {
    for (const File& file : files_) {
      const SuccinctStore& store = *file.store;
      (void)blowfish::SetLayers(*file.store, std::min(wanted.Of(store), before.Of(store)));
    }
    Sum();
    throw;
  }
  Sum();
}

bool SuccinctStores::FillSome() {
  if (!filling()) return false;
  const auto file = std::ranges::find_if(files_, [](const File& each) {
    return each.filled_through < each.store->records() && HasLayersToFill(*each.store);
  });
  if (file != files_.end()) {
    const SuccinctStore& store = *file->store;
    const std::uint32_t last = EndOfFill(store, file->filled_through);
    file->reader->FillLayers(file->filled_through, last);
    file->filled_through = last;
  }
  Sum();
  return file != files_.end();
}

}  // namespace stout::blowfish
