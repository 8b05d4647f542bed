#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/byte_alphabet.h"
#include "blowfish/index/elias_fano.h"
#include "blowfish/index/index_layers.h"
#include "blowfish/index/lock_step.h"
#include "blowfish/index/self_index.h"
#include "blowfish/index/text_buffer.h"
#include "blowfish/index/text_samples.h"

namespace stout::blowfish {

/// Records of bytes, compressed. Any part of a record can be read, and any substring found: the
/// setting of the paper. A match does not reach across records.
///
/// The text is all records one behind the other; a position counts its bytes. Samples bound the
/// walks. Two layered sampled arrays, the paper's, shorten them further:
/// - `positions` maps a row to its position (AoS2Input), for searches;
/// - `rows` maps a position to its row (Input2AoS), for reading.
/// Their coarsest layer is the samples.
///
/// Owner: the memory behind the spans of all parts outlives it.
/// Threads: one at a time, because queries fill the layers. ReadAll() is for any thread, and so is
///   FillLayers() of a Next().
/// Errors: a wrong Psi or sample, in a file that no writer of ours made, gives wrong answers; walks
///   do not leave its rows.
/// Paper: BlowFish (NSDI'16) Sections 2, 3.1.
class TextIndex {
 public:
  /// `begins`: the first position of each record, then the length of the text.
  TextIndex(SelfIndex index, ByteAlphabet alphabet, EliasFano begins, TextSamples samples);

  [[nodiscard]] std::uint32_t records() const { return index_.records(); }
  /// Bytes of all records.
  [[nodiscard]] std::uint64_t bytes() const { return index_.rows(); }
  [[nodiscard]] std::uint64_t SizeOf(std::uint32_t record) const {
    return begins_[record + 1] - begins_[record];
  }

  /// `positions` is for searches, `rows` for reads.
  [[nodiscard]] IndexLayers& layers() { return layers_; }
  [[nodiscard]] const IndexLayers& layers() const { return layers_; }
  [[nodiscard]] LayeredSampledArray& positions_at() { return layers_.searches; }
  [[nodiscard]] const LayeredSampledArray& positions_at() const { return layers_.searches; }
  [[nodiscard]] LayeredSampledArray& rows_of() { return layers_.reads; }
  [[nodiscard]] const LayeredSampledArray& rows_of() const { return layers_.reads; }

  /// Returns the end of a part of the records that begins with `first`: at least one of them, at
  /// most `records`, and not more than `bytes` bytes unless it is one.
  [[nodiscard]] std::uint32_t EndOfPart(std::uint32_t first, std::uint64_t bytes,
                                        std::uint32_t records) const;

  /// The same as in RecordIndex.
  /// @{
  void FillLayers(IndexLayers& layers, std::uint32_t first, std::uint32_t last) const;
  void FillLayers(std::uint32_t first, std::uint32_t last) { FillLayers(layers_, first, last); }
  /// @}

  /// Calls visit(i, text) for each of the records, in any order. The text lasts for the call.
  ///
  /// Cost: 20 ns a byte. kWalks short records are read together, each by one walk. A record of 4
  /// KiB and more is read alone, by several walks. A few short records take longer.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit);
  /// The same, without filling layers.
  template <typename Visit>
  void ReadAll(std::span<const std::uint32_t> records, Visit visit) const {
    ReadAll(records, visit, [](Row, std::uint64_t) {});
  }

  /// Appends a record.
  void Get(std::uint32_t record, TextBuffer& text) { Extract(record, 0, SizeOf(record), text); }

  /// Appends the bytes [offset, offset + size) of a record, as far as it has them.
  ///
  /// Cost: walks begin at each position whose row is known, in lock step. The first one begins
  /// before the part, by up to 512 bytes, or less with layers of `rows`.
  void Extract(std::uint32_t record, std::uint64_t offset, std::uint64_t size, TextBuffer& text);

  /// Returns the rows where the substring begins, one for each occurrence. For the empty substring,
  /// all rows.   Cost: two binary searches for each byte.
  [[nodiscard]] RowRange Search(std::string_view substring) const;
  /// The same of occurrences that end a record. Requires a byte at least.
  [[nodiscard]] RowRange SearchAtEnd(std::string_view substring) const;

  /// Calls visit(record, offset) for each row, in any order, until it answers false. Returns the
  /// steps that it took, of 20 ns each.
  template <typename Visit>
  std::uint64_t Locate(RowRange rows, Visit visit);
  /// Estimates the steps that Locate() takes for a row, for records of equal size and full layers.
  [[nodiscard]] std::uint64_t StepsToLocate() const;

 private:
  /// A record of this size is read by several walks.
  static constexpr std::uint64_t kLongRecord = 8 * TextSamples::kDistance;

  struct Place {
    std::uint32_t record;
    std::uint64_t offset;
  };
  // A possible start of a walk.
  struct Begin {
    std::uint64_t position = 0;
    Row row = 0;
  };
  // Rows that a walk has passed which the layers lack, and the steps from its beginning.
  class Passed {
   public:
    struct At {
      Row row;
      std::uint32_t steps;
    };
    void Clear() { size_ = 0; }
    // Rows that do not fit any more are left to another walk.
    void Add(At at) {
      if (size_ < at_.size()) at_[size_++] = at;
    }
    [[nodiscard]] std::span<const At> all() const { return std::span(at_).first(size_); }

   private:
    std::array<At, 16> at_;
    std::size_t size_ = 0;
  };

  // Calls pass(row, position) for each row that a walk passes.
  template <typename Visit, typename Pass>
  void ReadAll(std::span<const std::uint32_t> records, Visit visit, Pass pass) const;
  // Appends the bytes [first, last) of a record, which has them. `row_of` finds the row of a
  // position that is a multiple of `step`, or nullopt; it knows those of all samples.
  template <typename RowOf, typename Pass>
  void ReadPart(std::uint32_t record, std::uint64_t first, std::uint64_t last, std::uint64_t step,
                RowOf row_of, Pass pass, TextBuffer& text) const;

  [[nodiscard]] RowRange Search(std::string_view substring, RowRange following) const;

  static void FillAt(IndexLayers& layers, Row row, std::uint64_t position) {
    layers.searches.Fill(row, position);
    layers.reads.Fill(position, row);
  }
  [[nodiscard]] Place PlaceOf(std::uint64_t position) const;
  // The position of a row, if it is known without a walk.
  [[nodiscard]] std::optional<std::uint64_t> PositionOf(Row row) const;

  SelfIndex index_;
  ByteAlphabet alphabet_;
  EliasFano begins_;
  TextSamples samples_;
  IndexLayers layers_;
};

template <typename Visit>
void TextIndex::GetAll(std::span<const std::uint32_t> records, Visit visit) {
  if (!layers_.filling()) return std::as_const(*this).ReadAll(records, visit);
  ReadAll(records, visit,
          [this](Row row, std::uint64_t position) { FillAt(layers_, row, position); });
}

template <typename Visit, typename Pass>
void TextIndex::ReadAll(std::span<const std::uint32_t> records, Visit visit, Pass pass) const {
  struct Reading {
    std::size_t i = 0;
    std::uint64_t position = 0;
    std::uint64_t end = 0;
    TextBuffer text;
  };
  std::array<Reading, kWalks> lanes;
  std::size_t next = 0;
  // A record that needs no lane is read here.
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    Reading& reading = lanes[lane];
    while (next < records.size()) {
      const std::uint32_t record = records[next];
      reading.i = next++;
      reading.position = begins_[record];
      reading.end = begins_[record + 1];
      reading.text.Clear();
      const Row start = index_.Start(record);
      const std::uint64_t size = reading.end - reading.position;
      if (size > 0 && size < kLongRecord && !index_.IsEnd(start)) return start;
      ReadPart(
          record, reading.position, reading.end, TextSamples::kDistance,
          [this](std::uint64_t position) { return samples_.RowOf(position); }, pass, reading.text);
      visit(reading.i, reading.text.view());
    }
    return std::nullopt;
  };
  WalkInLockStep(index_.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    Reading& reading = lanes[lane];
    reading.text.Append(alphabet_.Print(cursor.symbol));
    pass(cursor.row, reading.position);
    if (++reading.position < reading.end && !index_.IsEnd(cursor.next)) return true;
    visit(reading.i, reading.text.view());
    return false;
  });
}

template <typename RowOf, typename Pass>
void TextIndex::ReadPart(std::uint32_t record, std::uint64_t first, std::uint64_t last,
                         std::uint64_t step, RowOf row_of, Pass pass, TextBuffer& text) const {
  if (first == last) return;
  char* const read = text.Extend(last - first);
  std::memset(read, 0, last - first);  // with a wrong Psi, not all of it is read
  // The known position that is nearest to `first`, not behind it.
  Begin next{begins_[record], index_.Start(record)};
  for (std::uint64_t known = first / step * step; known > next.position; known -= step) {
    if (const auto row = row_of(known)) next = {known, *row};
  }
  const auto after = [&](std::uint64_t position) -> Begin {
    for (std::uint64_t known = (position / step + 1) * step; known < last; known += step) {
      if (const auto row = row_of(known)) return {known, *row};
    }
    return {.position = last};
  };
  struct Part {
    std::uint64_t position;
    std::uint64_t end;
  };
  std::array<Part, kWalks> parts;
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    while (next.position != last) {
      const Begin from = std::exchange(next, after(next.position));
      parts[lane] = {from.position, next.position};
      if (!index_.IsEnd(from.row)) return from.row;  // A wrong Psi can lead to an end.
    }
    return std::nullopt;
  };
  WalkInLockStep(index_.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    Part& part = parts[lane];
    if (part.position >= first) read[part.position - first] = alphabet_.Print(cursor.symbol);
    pass(cursor.row, part.position);
    return ++part.position < part.end && !index_.IsEnd(cursor.next);
  });
}

template <typename Visit>
std::uint64_t TextIndex::Locate(RowRange rows, Visit visit) {
  struct Walk {
    std::uint32_t steps = 0;
    Passed passed;
  };
  std::array<Walk, kWalks> lanes;
  Row next = rows.first;
  bool more = true;
  std::uint64_t steps = 0;
  // A walk that has come to a row: whether its position is known, and so that of its first row.
  const auto arrive = [&](Walk& walk, Row row) {
    const std::optional<std::uint64_t> position = PositionOf(row);
    if (!position) {
      if (positions_at().Wants(row)) walk.passed.Add({row, walk.steps});
      return false;
    }
    if (walk.steps > *position) return true;  // Psi is wrong.
    const std::uint64_t first = *position - walk.steps;
    for (const Passed::At at : walk.passed.all()) FillAt(layers_, at.row, first + at.steps);
    const Place place = PlaceOf(first);
    more = visit(place.record, place.offset);
    return true;
  };
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    Walk& walk = lanes[lane];
    while (more && next < rows.last) {
      walk.steps = 0;
      walk.passed.Clear();
      const Row row = next++;
      if (!arrive(walk, row)) return row;
    }
    return std::nullopt;
  };
  WalkInLockStep(index_.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    ++lanes[lane].steps;
    ++steps;
    return more && !arrive(lanes[lane], cursor.next);
  });
  return steps;
}

}  // namespace stout::blowfish
