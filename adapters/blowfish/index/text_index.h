#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "blowfish/index/byte_alphabet.h"
#include "blowfish/index/elias_fano.h"
#include "blowfish/index/layered_sampled_array.h"
#include "blowfish/index/lock_step.h"
#include "blowfish/index/self_index.h"
#include "blowfish/index/text_buffer.h"

namespace stout::blowfish {

/// Records of bytes, compressed, of which any part is read and any substring found: the setting of
/// the paper. A record ends where a match ends that does not find enough: matches do not reach
/// across records.
///
/// The text is all records one behind the other; a position counts its bytes. Two layered sampled
/// arrays shorten walks, the paper's:
/// - `positions`: of a row, its position (AoS2Input), for searches;
/// - `rows`: of a position, its row (Input2AoS), for reading from the middle of a record.
/// The end of a record is known without them, so every walk ends, at the latest there.
///
/// Owner: what the spans of `index` and `begins` show outlives it.
/// Threads: one at a time, because queries fill the layers.
/// Errors: a Psi that is wrong, in a file that nobody of ours made, gives wrong answers; walks do
/// not leave its rows.
/// Paper: BlowFish (NSDI'16) Sections 2, 3.1.
class TextIndex {
 public:
  /// The sampling distance of the coarsest layer, none of which exists at first.
  static constexpr int kCoarsestExponent = 7;

  /// `begins`: of each record its first position, and at last the length of the text.
  TextIndex(SelfIndex index, ByteAlphabet alphabet, EliasFano begins);

  [[nodiscard]] std::uint32_t records() const { return index_.records(); }
  [[nodiscard]] std::uint64_t SizeOf(std::uint32_t record) const {
    return begins_[record + 1] - begins_[record];
  }

  [[nodiscard]] LayeredSampledArray& positions_at() { return positions_at_; }
  [[nodiscard]] const LayeredSampledArray& positions_at() const { return positions_at_; }
  [[nodiscard]] LayeredSampledArray& rows_of() { return rows_of_; }
  [[nodiscard]] const LayeredSampledArray& rows_of() const { return rows_of_; }

  /// Fills the layers of both, by reading the records [first, last).
  void FillLayers(std::uint32_t first, std::uint32_t last);

  /// Calls visit(i, text) for each of the records, in any order; reads kWalks at a time.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit);

  /// Appends a record.
  void Get(std::uint32_t record, TextBuffer& text) { Extract(record, 0, SizeOf(record), text); }

  /// Appends the bytes [offset, offset + size) of a record, as far as it has them. Walks begin
  /// wherever `rows` knows a row, in lock step: so a dense layer makes even one record quick.
  void Extract(std::uint32_t record, std::uint64_t offset, std::uint64_t size, TextBuffer& text);

  /// The rows where the substring begins, one for each occurrence. For the empty substring, all
  /// rows.
  [[nodiscard]] RowRange Search(std::string_view substring) const;

  /// Calls visit(record, offset) for each row, in any order, until it answers false.
  template <typename Visit>
  void Locate(RowRange rows, Visit visit);

 private:
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

  // Returns true if a layer lacks entries.
  [[nodiscard]] bool Learns() const { return positions_at_.filling() || rows_of_.filling(); }
  void Tell(Row row, std::uint64_t position) {
    positions_at_.Fill(row, position);
    rows_of_.Fill(position, row);
  }
  [[nodiscard]] Place PlaceOf(std::uint64_t position) const;
  // The nearest to a position, not behind it, whose row is known; `start`, or better.
  [[nodiscard]] Begin LastBegin(Begin start, std::uint64_t position) const;
  // The first that is known behind a position and before `end`; if there is none, `end` and no row.
  [[nodiscard]] Begin NextBegin(std::uint64_t position, std::uint64_t end) const;
  // The position of a row, if it is known without a walk.
  [[nodiscard]] std::optional<std::uint64_t> PositionOf(Row row) const;

  SelfIndex index_;
  ByteAlphabet alphabet_;
  EliasFano begins_;
  LayeredSampledArray positions_at_;
  LayeredSampledArray rows_of_;
};

template <typename Visit>
void TextIndex::GetAll(std::span<const std::uint32_t> records, Visit visit) {
  const bool tell = Learns();
  struct Reading {
    std::size_t i = 0;
    std::uint64_t position = 0;
    std::uint64_t end = 0;
    TextBuffer text;
  };
  std::array<Reading, kWalks> lanes;
  std::size_t next = 0;
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    Reading& reading = lanes[lane];
    while (next < records.size()) {
      const std::uint32_t record = records[next];
      reading.i = next++;
      reading.position = begins_[record];
      reading.end = begins_[record + 1];
      reading.text.Clear();
      const Row start = index_.Start(record);
      if (reading.position < reading.end && !index_.IsEnd(start)) return start;
      visit(reading.i, std::string_view());
    }
    return std::nullopt;
  };
  WalkInLockStep(index_.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    Reading& reading = lanes[lane];
    reading.text.Append(alphabet_.Print(cursor.symbol));
    if (tell) Tell(cursor.row, reading.position);
    if (++reading.position < reading.end && !index_.IsEnd(cursor.next)) return true;
    visit(reading.i, reading.text.view());
    return false;
  });
}

template <typename Visit>
void TextIndex::Locate(RowRange rows, Visit visit) {
  struct Walk {
    std::uint32_t steps = 0;
    Passed passed;
  };
  std::array<Walk, kWalks> lanes;
  Row next = rows.first;
  bool more = true;
  // A walk that has come to a row: whether its position is known, and so that of its first row.
  const auto arrive = [&](Walk& walk, Row row) {
    const std::optional<std::uint64_t> position = PositionOf(row);
    if (!position) {
      if (positions_at_.Wants(row)) walk.passed.Add({row, walk.steps});
      return false;
    }
    if (walk.steps > *position) return true;  // Psi is wrong.
    const std::uint64_t first = *position - walk.steps;
    for (const Passed::At at : walk.passed.all()) Tell(at.row, first + at.steps);
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
    return more && !arrive(lanes[lane], cursor.next);
  });
}

}  // namespace stout::blowfish
