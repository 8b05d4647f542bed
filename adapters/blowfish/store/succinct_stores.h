#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/log/log_table.h"
#include "blowfish/store/file_layers.h"
#include "blowfish/store/first_keys.h"
#include "blowfish/store/first_to_merge.h"
#include "blowfish/store/hidden_records.h"
#include "blowfish/store/merge_work.h"
#include "blowfish/store/new_layers.h"
#include "blowfish/store/succinct_store.h"
#include "blowfish/store/value_reader.h"

namespace stout::blowfish {

/// One of the compressed files, for searches.
struct SearchedFile {
  std::shared_ptr<SuccinctStore> store;
  const HiddenRecords* hidden = nullptr;  ///< of its records; until a file comes or goes
};

/// The compressed files of a shard, from the oldest to the newest, as one store.
///
/// A key may be in several files; the newest of them counts. A record that does not count is
/// hidden: a newer file has its key, or the owner has hidden it with Hide(), because a store that
/// is newer than all files has the key. Hide() is enough for the newest record of a key, because
/// all others are hidden already.
///
/// All files have the same number of layers, as far as they can have that number: see LayerLadder
/// and BlockLayers.
///
/// Owner: it shares the files.   Threads: one at a time.
class SuccinctStores {
 public:
  /// A record, until a file comes or goes.
  struct Place {
    std::uint32_t file = 0;
    std::uint32_t record = 0;
  };
  struct Found {
    Stamp stamp;
    std::optional<Place> place;  ///< nullopt: the key was deleted.
  };

  SuccinctStores() = default;

  /// Adds a file that is newer than the others. If it shares keys with them, HideReplaced() is due.
  void Add(MergedFile file);

  /// Hides each record whose key a newer file has.   Cost: one pass over the keys of all files.
  void HideReplaced();

  /// Puts others in the place of some files. They hide no records of the rest that were not hidden.
  /// Returns what is gone.
  std::vector<std::shared_ptr<const SuccinctStore>> Replace(FileRun run, SuccinctStores others);

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] SuccinctStore& operator[](std::size_t file) const { return *files_[file].store; }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<FileFill> fills() const;
  /// The sum of fills().
  [[nodiscard]] const FileFill& fill() const { return sums_.fill; }
  [[nodiscard]] std::uint64_t records() const { return sums_.records; }  ///< hidden ones included
  [[nodiscard]] std::uint64_t hidden() const;
  [[nodiscard]] std::uint64_t file_bytes() const { return sums_.file_bytes; }

  [[nodiscard]] std::vector<std::shared_ptr<const SuccinctStore>> Share(FileRun run) const;
  /// Without what is hidden at present.
  [[nodiscard]] std::vector<FileToMerge> ShareToMerge(FileRun run) const;
  [[nodiscard]] std::vector<SearchedFile> ShareToSearch() const;

  /// Returns what the newest file with the key has of it.   Cost: a search in each file until then.
  [[nodiscard]] std::optional<Found> Find(KeyView key) const;

  /// A store that is newer than all files has the key.
  void Hide(Place place) {
    File& file = files_[place.file];
    sums_.fill.live -= file.fill().live;
    file.hidden.Hide(place.record);
    sums_.fill.live += file.fill().live;
  }
  void Hide(KeyView key);

  /// Calls visit(i, stamp, value) for each of the places, in any order.
  using Visitor = std::function<void(std::size_t i, Stamp stamp, std::string_view value)>;
  void Read(std::span<const Place> places, const Visitor& visit);

  /// An attribute of a record; nullopt if it lacks it. The view lasts until the next call.
  [[nodiscard]] std::optional<std::string_view> ReadAttribute(Place place, std::size_t attribute);
  /// A part of a value. The view lasts until the next call.
  [[nodiscard]] std::string_view ReadRange(Place place, const ByteRange& range);

  /// Frees the memory of large values that were read since the last call. Views end.
  void EndReads();

  /// Offers the keys behind `after`. `with_deleted`: also those that were deleted. Otherwise it
  /// ends behind many hidden records of a file: see FirstKeys::end().
  /// `is_in_newer`: whether a store that is newer than all files has a key.
  void Offer(std::optional<std::string_view> after, bool with_deleted,
             const std::function<bool(KeyView)>& is_in_newer, FirstKeys& first) const;

  /// See LayerLadder and BlockLayers: of all files together. Those that are ordered count.
  /// @{
  [[nodiscard]] std::size_t layers() const { return sums_.layers.most(); }
  [[nodiscard]] LayerNumbers layer_numbers() const { return sums_.layers; }
  [[nodiscard]] std::uint64_t layer_bytes() const { return sums_.layer_bytes; }
  [[nodiscard]] const NextLayerBytes& next_layer_bytes() const { return sums_.next_layer_bytes; }
  /// If layers are ordered, those; otherwise the finest layers of the files with the most.
  [[nodiscard]] std::uint64_t finest_layer_bytes() const { return sums_.finest_layer_bytes; }
  /// @}

  /// Orders the layers that files lack, and returns them: Install() is due when they are full. With
  /// kOpportunistic, adds them, empty, and returns none. If there is no memory, files get fewer.
  /// `ordered`: all that is ordered. Files that are still there keep it.
  [[nodiscard]] std::vector<NewLayers> OrderLayers(LayerNumbers wanted, LayerFilling filling,
                                                   std::vector<NewLayers> ordered = {});
  /// Puts layers into their file, unless that is gone.
  void Install(NewLayers layers);
  /// Orders that were not installed are off.
  void DropOrders();
  /// Removes layers until each file has at most this number, those that are ordered not counted.
  void RemoveLayersAbove(LayerNumbers most);
  /// Layers are ordered.
  [[nodiscard]] bool filling() const { return sums_.filling; }

  /// Returns true if layers make several gets at once faster, too, because most values have to be
  /// unpacked.
  [[nodiscard]] bool packed_blocks() const { return sums_.packed_records > sums_.records / 2; }

 private:
  struct File {
    std::string name;
    std::shared_ptr<SuccinctStore> store;
    std::uint32_t records = 0;
    std::uint64_t bytes = 0;  // of records; see FileFill
    HiddenRecords hidden;
    std::unique_ptr<ValueReader> reader;
    bool was_read = false;  // since the last EndReads()
    std::uint32_t ordered_layers = 0;
    std::uint64_t ordered_bytes = 0;

    // Each Hide() asks for it, so it does not look into the store.
    [[nodiscard]] FileFill fill() const {
      const std::uint64_t count = hidden.count();
      return {bytes, count == 0 ? bytes : bytes * (records - count) / records};
    }
  };

  // Over all files. They are kept because a worker reads them in each of its turns.
  struct Sums {
    FileFill fill;
    std::uint64_t records = 0;
    std::uint64_t file_bytes = 0;
    LayerNumbers layers;  // the most of any file
    std::uint64_t layer_bytes = 0;
    NextLayerBytes next_layer_bytes = {};
    std::uint64_t finest_layer_bytes = 0;
    bool filling = false;
    std::uint64_t packed_records = 0;
  };

  // To be called after each change of the files or of their layers. Hide() keeps its sum itself.
  void Sum();
  void OfferDeleted(std::size_t file, std::optional<std::string_view> after,
                    const std::function<bool(KeyView)>& is_in_newer, FirstKeys& first) const;
  // A file newer than this one has the key, or its tombstone.
  [[nodiscard]] bool IsInNewer(KeyView key, std::size_t file) const;
  [[nodiscard]] ValueReader& ReaderOf(File& file) {
    file.was_read = true;
    return *file.reader;
  }

  std::vector<File> files_;
  Sums sums_;
};

}  // namespace stout::blowfish
