#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "blowfish/index/anchors.h"
#include "blowfish/index/index_layers.h"
#include "blowfish/index/lock_step.h"
#include "blowfish/index/record_texts.h"
#include "blowfish/index/self_index.h"
#include "blowfish/index/speller.h"
#include "blowfish/index/text_buffer.h"
#include "blowfish/index/token_alphabet.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// Records with attributes: compressed, and searchable by attribute. It knows them by number;
/// KeyDirectory has the keys.
///
/// Two layered sampled arrays shorten walks, and grow and shrink while they are used:
/// - `records`: maps an anchor to its record: for searches;
/// - `places`: maps a record and an ordinal to the place of that anchor among those of its ordinal:
///   for single attributes, and to read one record by several walks at once.
///
/// Both are indexed by place, or record, << k | ordinal. Reads of records fill both; searches also
/// fill `records`. RecordReader reads whole records.
///
///     RecordReader reader(index);
///     std::string_view value = reader.Get(7);
///     for (RowRange rows : index.SearchPrefix(city, "ro")) {
///       index.Locate(rows, [&](std::uint32_t record) { ...; return more; });
///     }
///
/// Cost: reading a record takes a step per symbol, searching a few binary searches. Locating a hit
/// takes one step per symbol up to the next anchor that is sampled.
/// Owner: the memory behind the spans of `index` and `alphabet` outlives it.
/// Threads: one, its owner's, because queries fill the layers. The owner adds and deletes layers
///   between queries, not in a visitor. texts() is for any thread, and so is FillLayers() of a
///   Next().
/// Errors: a wrong Psi, in a file that no writer of ours made, gives wrong answers, or fewer, or
///   std::bad_alloc. No read goes beyond the spans, and walks end.
/// Paper: BlowFish (NSDI'16) Section 3.1.
class RecordIndex {
 public:
  RecordIndex(SelfIndex index, TokenAlphabet alphabet);

  /// The part without layers, which any thread may read.
  [[nodiscard]] const RecordTexts& texts() const { return texts_; }
  [[nodiscard]] std::uint32_t records() const { return texts_.records(); }
  [[nodiscard]] std::size_t attributes() const { return alphabet().attributes(); }
  [[nodiscard]] std::uint64_t value_bytes() const { return texts_.value_bytes(); }
  /// Memory beside what it was given, and the layers.
  [[nodiscard]] std::size_t table_bytes() const { return speller_.bytes(); }

  /// `records` is for searches, `places` for reads.
  [[nodiscard]] IndexLayers& layers() { return layers_; }
  [[nodiscard]] const IndexLayers& layers() const { return layers_; }
  [[nodiscard]] LayeredSampledArray& records_at() { return layers_.searches; }
  [[nodiscard]] const LayeredSampledArray& records_at() const { return layers_.searches; }
  [[nodiscard]] LayeredSampledArray& places_of() { return layers_.reads; }
  [[nodiscard]] const LayeredSampledArray& places_of() const { return layers_.reads; }

  /// Fills layers of this index, or a Next() of them, with what the records [first, last) have, by
  /// reading these. For a Next() any thread may do it: then it does not look at the layers of the
  /// index. Takes 4 bytes of memory for each of the records.
  void FillLayers(IndexLayers& layers, std::uint32_t first, std::uint32_t last) const;
  void FillLayers(std::uint32_t first, std::uint32_t last) { FillLayers(layers_, first, last); }

  /// Appends an attribute of a record. False: the record lacks it.
  bool GetAttribute(std::uint32_t record, std::size_t attribute, TextBuffer& value);

  /// The rows where an attribute with this value begins: one for each record that has it.
  [[nodiscard]] RowRange Search(std::size_t attribute, std::string_view value) const;
  /// Rows of the values that begin with `prefix`: at most two ranges.
  [[nodiscard]] std::vector<RowRange> SearchPrefix(std::size_t attribute,
                                                   std::string_view prefix) const;

  /// Calls visit(record) for the record of each row, in any order, until it answers false. The rows
  /// are of one attribute, as Search gives them.
  template <typename Visit>
  void Locate(RowRange rows, Visit visit);
  /// The same with visit(records), a span of some of them. For callers that want all records.
  template <typename Visit>
  void LocateSpans(RowRange rows, Visit visit);

 private:
  friend class RecordReader;

  // Anchors that a walk has passed and that the layers lack.
  class Passed {
   public:
    void Clear() { size_ = 0; }
    // Anchors that do not fit any more are left to another walk.
    void Add(Anchors::Anchor anchor) {
      if (size_ < anchors_.size()) anchors_[size_++] = anchor;
    }
    [[nodiscard]] std::span<const Anchors::Anchor> anchors() const {
      return std::span(anchors_).first(size_);
    }

   private:
    std::array<Anchors::Anchor, 16> anchors_;
    std::size_t size_ = 0;
  };

  [[nodiscard]] const SelfIndex& self_index() const { return texts_.index(); }
  [[nodiscard]] const TokenAlphabet& alphabet() const { return texts_.alphabet(); }

  [[nodiscard]] std::uint64_t IndexAt(Anchors::Anchor anchor) const {
    return records_at().shape().Index(anchor.place, anchor.ordinal);
  }
  // The anchors that the layers may lack, as of its construction. So a reader of whole records need
  // not look for each anchor.
  class Lacking {
   public:
    Lacking(const Anchors& anchors, const IndexLayers& layers);

    // False for most rows, at the cost of a comparison, as long as there are few layers.
    [[nodiscard]] bool MayHave(Row row) const { return row - rows_.first < rows_.size(); }
    [[nodiscard]] bool Has(Anchors::Anchor anchor) const { return ordinals_[anchor.ordinal]; }

   private:
    RowRange rows_;  // That all of them are among.
    std::bitset<Schema::kMaxAttributes + 1> ordinals_;
  };

  // The layers learn of an anchor of a record.
  static void Tell(IndexLayers& layers, Anchors::Anchor anchor, std::uint32_t record) {
    const SampleShape& shape = layers.searches.shape();
    layers.searches.Fill(shape.Index(anchor.place, anchor.ordinal), record);
    layers.reads.Fill(shape.Index(record, anchor.ordinal), anchor.place);
  }
  void TellAll(const Passed& passed, std::uint32_t record) {
    for (const Anchors::Anchor anchor : passed.anchors()) Tell(layers_, anchor, record);
  }

  // Tells layers what walks pass that they lack, some of it at a time: so what is to be written
  // comes from memory all at once. Finish() it.
  class Teller {
   public:
    Teller(const Anchors& anchors, IndexLayers& layers)
        : anchors_(anchors), layers_(layers), lacking_(anchors, layers) {}

    void Pass(Row row, std::uint32_t record) {
      if (!lacking_.MayHave(row)) return;
      const Anchors::Anchor anchor = anchors_.At(row);
      if (!lacking_.Has(anchor)) return;
      PrefetchToTell(anchor, record);
      untold_[size_++] = {anchor, record};
      if (size_ == untold_.size()) Finish();
    }
    void Finish() {
      for (const Untold& untold : std::span(untold_).first(size_))
        Tell(layers_, untold.anchor, untold.record);
      size_ = 0;
    }

   private:
    struct Untold {
      Anchors::Anchor anchor;
      std::uint32_t record;
    };

    // Brings what Tell will write to into the cache.
    void PrefetchToTell(Anchors::Anchor anchor, std::uint32_t record) const {
      const SampleShape& shape = layers_.searches.shape();
      if (layers_.searches.filling(anchor.ordinal))
        layers_.searches.Prefetch(shape.Index(anchor.place, anchor.ordinal));
      if (layers_.reads.filling(anchor.ordinal))
        layers_.reads.Prefetch(shape.Index(record, anchor.ordinal));
    }

    const Anchors& anchors_;
    IndexLayers& layers_;
    const Lacking lacking_;
    std::array<Untold, kWalks> untold_;
    std::size_t size_ = 0;
  };

  // Locates rows as long as their records stand side by side, in a layer that is full; leaves those
  // that are left. True: it is done.
  template <typename Visit>
  [[nodiscard]] bool LocateSampled(RowRange& rows, Visit& visit);

  // Rows of one attribute, side by side, a block at a time, as far as they walk in step. They pass
  // attributes of which every record has one symbol, mostly up to rows whose records are known.
  // Such steps need no look.
  class Column {
   public:
    Column(const RecordIndex& index, RowRange rows);

    [[nodiscard]] bool empty() const { return at_ == size_ && rows_.empty(); }
    /// Returns the row that the next one has reached. Requires that it is not empty.
    [[nodiscard]] Row Take() {
      if (at_ == size_) March();
      return cursors_[at_++].next;
    }
    /// The records of the next ones; of none, if there is none, or walks are to find them.
    [[nodiscard]] std::span<const std::uint32_t> TakeRecords();

   private:
    void March();

    const RecordIndex& index_;
    RowRange rows_;
    std::uint32_t ordinal_;    // the ordinal that they reach
    std::uint32_t steps_ = 0;  // after this number of steps
    std::array<Psi::Cursor, Psi::kBlock> cursors_;
    std::size_t at_ = 0;  // next index to take from cursors_
    std::size_t size_ = 0;
    std::array<std::uint32_t, Psi::kBlock> records_;
  };

  // The record of a row, if it is known without a walk.
  [[nodiscard]] std::optional<std::uint32_t> RecordAt(Row row, Passed& passed) const;

  RecordTexts texts_;
  Speller speller_;
  Anchors anchors_;
  IndexLayers layers_;
};

template <typename Visit>
bool RecordIndex::LocateSampled(RowRange& rows, Visit& visit) {
  std::array<std::uint32_t, 256> records;
  for (Anchors::Anchor at = anchors_.At(rows.first); !rows.empty();) {
    const auto part = std::span(records).first(std::min<std::size_t>(rows.size(), records.size()));
    if (!records_at().Unpack(at.ordinal, at.place, part)) return false;
    if (!visit(std::span<const std::uint32_t>(part))) return true;
    at.place += static_cast<Row>(part.size());
    rows.first += static_cast<Row>(part.size());
  }
  return true;
}

template <typename Visit>
void RecordIndex::Locate(RowRange rows, Visit visit) {
  LocateSpans(rows, [&](std::span<const std::uint32_t> records) {
    for (const std::uint32_t record : records) {
      if (!visit(record)) return false;
    }
    return true;
  });
}

template <typename Visit>
void RecordIndex::LocateSpans(RowRange rows, Visit visit) {
  if (rows.empty() || LocateSampled(rows, visit)) return;
  Column column(*this, rows);
  for (auto records = column.TakeRecords(); !records.empty(); records = column.TakeRecords()) {
    if (!visit(records)) return;
  }
  if (column.empty()) return;
  const auto visit_one = [&](std::uint32_t record) {
    return visit(std::span<const std::uint32_t>(&record, 1));
  };
  std::array<Passed, kWalks> passed;
  bool more = true;
  // Rows whose record is known take no walk, and no lane.
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    while (more && !column.empty()) {
      passed[lane].Clear();
      const Row row = column.Take();
      const std::optional<std::uint32_t> record = RecordAt(row, passed[lane]);
      if (!record) return row;
      more = visit_one(*record);
    }
    return std::nullopt;
  };
  const auto walk = [&](std::size_t lane, const Psi::Cursor& cursor) {
    if (!more) return false;
    const std::optional<std::uint32_t> record = RecordAt(cursor.next, passed[lane]);
    if (!record) return true;
    TellAll(passed[lane], *record);
    more = visit_one(*record);
    return false;
  };
  WalkInLockStep(self_index().psi(), begin, walk);
}

}  // namespace stout::blowfish
