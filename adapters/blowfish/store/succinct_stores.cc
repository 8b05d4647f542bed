#include "blowfish/store/succinct_stores.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "blowfish/index/key_stream.h"
#include "blowfish/store/file_layers.h"

namespace stout::blowfish {
namespace {

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

}  // namespace

// --- Which files there are -----------------------------------------------------------------------

void SuccinctStores::Add(MergedFile file) {
  SuccinctStore& store = *file.store;
  files_.push_back({.name = std::move(file.name),
                    .store = std::move(file.store),
                    .records = store.records(),
                    .bytes = store.keys().text_bytes() + store.value_bytes() +
                             store.records() * std::uint64_t{store.schema().size()},
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
  Sum();
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
  std::uint64_t ordered_bytes = 0;
  for (const File& file : files_) {
    SuccinctStore& store = *file.store;
    const auto [bytes, live] = file.fill();
    sums_.fill = {sums_.fill.bytes + bytes, sums_.fill.live + live};
    sums_.records += store.records();
    sums_.file_bytes += store.file_bytes();
    if (store.HasPackedBlocks()) sums_.packed_records += store.records();
    VisitLayers(store, [&](const auto& layers) {
      // A removal leaves files with fewer layers as they are.
      const auto number = static_cast<std::uint32_t>(layers.layers()) + file.ordered_layers;
      if (number > sums_.layers.most()) sums_.finest_layer_bytes = 0;
      std::uint32_t& most =
          store.blocks() != nullptr ? sums_.layers.of_blocks : sums_.layers.of_indexes;
      most = std::max(most, number);
      if (number == sums_.layers.most()) sums_.finest_layer_bytes += layers.finest_bytes();
      sums_.layer_bytes += layers.bytes() + file.ordered_bytes;
      ordered_bytes += file.ordered_bytes;
      const std::uint64_t ordered = layers.next_bytes(file.ordered_layers);
      for (std::size_t i = 0; i < sums_.next_layer_bytes.size(); ++i)
        sums_.next_layer_bytes[i] += layers.next_bytes(file.ordered_layers + i + 1) - ordered;
    });
  }
  sums_.filling = ordered_bytes > 0;
  if (sums_.filling) sums_.finest_layer_bytes = ordered_bytes;
}

std::vector<std::string> SuccinctStores::names() const {
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  return names;
}

std::vector<FileFill> SuccinctStores::fills() const {
  std::vector<FileFill> fills;
  for (const File& file : files_) fills.push_back(file.fill());
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
    return visit(0, files_[file].store->StampOf(record), ReaderOf(files_[file]).Get(record));
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
    File& file = files_[number];
    ReaderOf(file).GetAll(records, [&](std::size_t i, std::string_view value) {
      visit(numbers[i], file.store->StampOf(records[i]), value);
    });
  }
}

std::optional<std::string_view> SuccinctStores::ReadAttribute(Place place, std::size_t attribute) {
  return ReaderOf(files_[place.file]).GetAttribute(place.record, attribute);
}

std::string_view SuccinctStores::ReadRange(Place place, const ByteRange& range) {
  return ReaderOf(files_[place.file]).GetRange(place.record, range);
}

void SuccinctStores::EndReads() {
  for (File& file : files_) {
    if (std::exchange(file.was_read, false)) file.reader->FreeIfLarge();
  }
}

void SuccinctStores::Offer(std::optional<std::string_view> after, bool with_deleted,
                           const std::function<bool(KeyView)>& is_in_newer,
                           FirstKeys& first) const {
  for (std::size_t i = files_.size(); i-- > 0;) {
    const KeyDirectory& keys = files_[i].store->keys();
    const HiddenRecords& hidden = files_[i].hidden;
    std::size_t passed = 0;
    keys.Scan(after ? keys.LowerBound(*after) : 0, [&](std::uint64_t record, KeyView key) {
      if (first.IsBeyond(key)) return false;
      if (key == after) return true;
      if (!hidden.Has(static_cast<std::uint32_t>(record))) return first.Offer(key);
      if (with_deleted || ++passed < FirstKeys::kMaxPassed) return true;
      first.EndAt(key);
      return false;
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

std::vector<NewLayers> SuccinctStores::OrderLayers(LayerNumbers wanted, LayerFilling filling,
                                                   std::vector<NewLayers> ordered) try {
  std::vector<NewLayers> all;
  all.reserve(files_.size());
  for (File& file : files_) {
    SuccinctStore& store = *file.store;
    const auto before = std::ranges::find_if(
        ordered, [&](const NewLayers& layers) { return layers.AreFor(store); });
    if (before != ordered.end()) {
      all.push_back(std::move(*before));
      continue;
    }
    if (LayersOf(store) >= wanted.Of(store)) continue;
    if (filling == LayerFilling::kOpportunistic) {
      SetLayers(store, wanted.Of(store));
      continue;
    }
    NewLayers layers(file.store, wanted.Of(store));
    if (layers.count() == 0) continue;
    file.ordered_layers = static_cast<std::uint32_t>(layers.count());
    file.ordered_bytes = layers.bytes();
    all.push_back(std::move(layers));
  }
  Sum();
  return all;
} catch (const std::bad_alloc&) {
  DropOrders();
  return {};
}

void SuccinctStores::Install(NewLayers layers) {
  const auto file =
      std::ranges::find_if(files_, [&](const File& each) { return layers.AreFor(*each.store); });
  if (file == files_.end()) return;
  std::move(layers).Join(*file->store);
  file->ordered_layers = 0;
  file->ordered_bytes = 0;
  Sum();
}

void SuccinctStores::RemoveLayersAbove(LayerNumbers most) {
  for (File& file : files_)
    SetLayers(*file.store, std::min<std::size_t>(LayersOf(*file.store), most.Of(*file.store)));
  Sum();
}

void SuccinctStores::DropOrders() {
  for (File& file : files_) {
    file.ordered_layers = 0;
    file.ordered_bytes = 0;
  }
  Sum();
}

}  // namespace stout::blowfish
