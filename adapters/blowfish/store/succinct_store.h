#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/file/index_file.h"
#include "blowfish/index/block_layers.h"
#include "blowfish/index/block_texts.h"
#include "blowfish/index/key_directory.h"
#include "blowfish/index/key_filter.h"
#include "blowfish/index/record_index.h"
#include "blowfish/index/stamp_column.h"
#include "blowfish/index/text_index.h"
#include "blowfish/index/token_alphabet.h"
#include "blowfish/index/zeroed_words.h"
#include "blowfish/store/encoding_choice.h"
#include "blowfish/store/space.h"
#include "stout/error.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// A key that is gone, and since when: its stamp is compared with those of late writes.
struct Tombstone {
  Stamp stamp;
  std::uint64_t deleted_at_ms = 0;  ///< Unix time.

  friend bool operator==(const Tombstone&, const Tombstone&) = default;
};

/// Records that do not change any more, compressed in one file, which is mapped and read in place.
///
/// Records are numbered in the byte order of their keys, and so are the tombstones that the file
/// keeps beside them.
///
/// The values have one of three encodings: an index, which is searched by attribute; blocks, which
/// are not searched; or a text index, which is searched by substring. A store with one of the other
/// two has an index of no records. ValueReader reads all three, and VisitLayers() visits the layers
/// of all three.
///
/// Threads: any for const members, which neither read nor change layers, and for filling a
///   NewLayers: so other threads have a const view. All other members belong to one thread, the
///   owner's.
/// Paper: BlowFish (NSDI'16) Section 2, after Succinct (NSDI'15) Section 4.
class SuccinctStore {
 public:
  static constexpr std::string_view kFileKind = "records";
  /// The newest version of the file. All are read; older programs refuse newer versions.
  ///
  /// 1: the values are in an index. 2: they may be in blocks. 3: they may be in a text index; words
  /// may be cut into chunks, and values into runs (CutRule). A writer uses the lowest version that
  /// has what the file needs. Files of any version may have a key filter, which older programs do
  /// not look for.
  static constexpr std::uint32_t kFileVersion = 3;

  /// Errors: kCorrupt if the file is not what a writer published. For the others see IndexFile.
  ///
  /// With or without checksums, no read goes beyond the file. The targets of numbers are checked
  /// here, or, for Psi's, when they are used (RecordIndex).
  /// Cost: a look at every block of Psi, at the start of every record, and at all samples of a
  /// text;
  ///   1 or 2 ns a record, and some 10 ns a symbol. Verify::kEverything reads all of the file.
  [[nodiscard]] static Result<std::unique_ptr<SuccinctStore>> Open(
      const std::string& path, Verify verify = Verify::kEverything,
      Diagnostics* diagnostics = nullptr);

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] std::uint32_t records() const { return static_cast<std::uint32_t>(keys_.size()); }
  /// Bytes of the values of all records.
  [[nodiscard]] std::uint64_t value_bytes() const {
    return blocks_ ? blocks_->value_bytes() : text_ ? text_->bytes() : texts().value_bytes();
  }
  /// Returns the end of a part of the records that begins with `first`: at least one of them, at
  /// most `most`, with about `bytes` of values. A text index knows the size of each value;
  /// otherwise the mean size decides.
  [[nodiscard]] std::uint32_t EndOfPart(std::uint32_t first, std::uint64_t bytes,
                                        std::uint32_t most) const;
  [[nodiscard]] const KeyDirectory& keys() const { return keys_; }
  [[nodiscard]] Stamp StampOf(std::uint32_t record) const { return stamps_[record]; }
  /// Returns false only if neither keys() nor deleted_keys() have a key with this
  /// KeyFilter::HashOf().   Cost: a cache line, instead of a search.
  [[nodiscard]] bool MayHave(std::uint64_t hash) const { return key_filter_.MayHave(hash); }
  /// Returns true if keys() or deleted_keys() have the key. `hash`: its KeyFilter::HashOf().
  [[nodiscard]] bool Has(std::string_view key, std::uint64_t hash) const {
    return MayHave(hash) && (keys_.Find(key) || deleted_keys_.Find(key));
  }

  [[nodiscard]] Encoding encoding() const {
    return blocks_ ? Encoding::kBlocks : text_ ? Encoding::kText : Encoding::kIndex;
  }
  /// The values of all records of the index, without layers.
  [[nodiscard]] const RecordTexts& texts() const { return index_.texts(); }
  [[nodiscard]] RecordIndex& index() { return index_; }
  [[nodiscard]] const RecordIndex& index() const { return index_; }
  /// Null unless the encoding is kBlocks.
  [[nodiscard]] const BlockTexts* blocks() const { return blocks_ ? &*blocks_ : nullptr; }
  /// Null unless the encoding is kBlocks.
  [[nodiscard]] BlockLayers* block_layers() { return block_layers_ ? &*block_layers_ : nullptr; }
  /// Returns true if some values have to be unpacked, so that block_layers() can help.
  [[nodiscard]] bool HasPackedBlocks() const { return blocks_ && blocks_->layer_shape().kept > 0; }
  /// Null unless the encoding is kText.
  /// @{
  [[nodiscard]] TextIndex* text() { return text_ ? &*text_ : nullptr; }
  [[nodiscard]] const TextIndex* text() const { return text_ ? &*text_ : nullptr; }
  /// @}
  /// The layers of the index, or of the text index. Those with blocks have none there.
  [[nodiscard]] IndexLayers& index_layers() { return text_ ? text_->layers() : index_.layers(); }

  [[nodiscard]] const KeyDirectory& deleted_keys() const { return deleted_keys_; }
  [[nodiscard]] Tombstone TombstoneOf(std::uint64_t deleted) const {
    return {deleted_stamps_[deleted], deleted_times_[deleted]};
  }

  /// Begins to read the file into the system's cache, for a caller that needs all of it soon.
  void ReadAhead() const { file_.Advise(Access::kWillNeed); }

  [[nodiscard]] std::uint64_t file_bytes() const { return file_.bytes(); }
  /// Space of the file, by part, of the table of texts, and of the layers.
  [[nodiscard]] std::vector<Space> SpaceByPart();

 private:
  struct Parts;

  SuccinctStore(IndexFile file, Schema schema, Parts parts);
  [[nodiscard]] TokenAlphabet Alphabet(const Parts& parts);

  IndexFile file_;
  Schema schema_;
  KeyDirectory keys_;
  StampColumn stamps_;
  KeyDirectory deleted_keys_;
  StampColumn deleted_stamps_;
  std::span<const std::uint64_t> deleted_times_;
  KeyFilter key_filter_;
  ZeroedWords symbol_texts_;  // of all symbols that a Psi could have
  RecordIndex index_;
  std::optional<BlockTexts> blocks_;
  std::optional<BlockLayers> block_layers_;  // if there are blocks
  std::optional<TextIndex> text_;
};

}  // namespace stout::blowfish
