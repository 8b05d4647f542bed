#include "blowfish/index/text_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace stout::blowfish {
namespace {

SampleShape ShapeOf(std::uint64_t size) {
  return {.size = size,
          .width = BitWidth(std::max<std::uint64_t>(size, 1) - 1),
          .coarsest_exponent = TextIndex::kCoarsestExponent,
          .columns = 1U << TextIndex::kCoarsestExponent};
}

}  // namespace

TextIndex::TextIndex(SelfIndex index, ByteAlphabet alphabet, EliasFano begins)
    : index_(index),
      alphabet_(alphabet),
      begins_(begins),
      positions_at_(ShapeOf(index_.rows())),
      rows_of_(ShapeOf(index_.rows())) {}

void TextIndex::FillLayers(std::uint32_t first, std::uint32_t last) {
  // In parts, so that the list of numbers stays small.
  constexpr std::uint32_t kPart = 1024;
  std::vector<std::uint32_t> records;
  for (; first < last; first += records.size()) {
    records.resize(std::min(kPart, last - first));
    std::iota(records.begin(), records.end(), first);
    GetAll(records, [](std::size_t, std::string_view) {});
  }
}

void TextIndex::Extract(std::uint32_t record, std::uint64_t offset, std::uint64_t size,
                        TextBuffer& text) {
  const std::uint64_t begin = begins_[record];
  const std::uint64_t end = begins_[record + 1];
  if (offset >= end - begin || size == 0) return;
  const bool tell = Learns();
  const std::uint64_t first = begin + offset;
  const std::uint64_t last = first + std::min(size, end - first);
  char* const extracted = text.Extend(last - first);
  std::memset(extracted, 0, last - first);  // with a wrong Psi, not all of it is read
  struct Part {
    std::uint64_t position;
    std::uint64_t end;
  };
  std::array<Part, kWalks> parts;
  Begin next = LastBegin({begin, index_.Start(record)}, first);
  const auto begin_part = [&](std::size_t lane) -> std::optional<Row> {
    while (next.position != last) {
      const Begin from = std::exchange(next, NextBegin(next.position, last));
      parts[lane] = {from.position, next.position};
      if (!index_.IsEnd(from.row)) return from.row;  // It is none, unless Psi is wrong.
    }
    return std::nullopt;
  };
  WalkInLockStep(index_.psi(), begin_part, [&](std::size_t lane, const Psi::Cursor& cursor) {
    Part& part = parts[lane];
    if (part.position >= first) extracted[part.position - first] = alphabet_.Print(cursor.symbol);
    if (tell) Tell(cursor.row, part.position);
    return ++part.position < part.end && !index_.IsEnd(cursor.next);
  });
}

TextIndex::Begin TextIndex::LastBegin(Begin start, std::uint64_t position) const {
  const std::uint64_t step = rows_of_.finest();
  if (step == 0) return start;
  // The coarsest layer has one that is nearer, if it is full.
  constexpr std::uint64_t kFarthest = std::uint64_t{1} << kCoarsestExponent;
  for (std::uint64_t known = position / step * step;
       known > start.position && position - known < kFarthest; known -= step) {
    if (const auto row = rows_of_.Find(known)) return {known, static_cast<Row>(*row)};
  }
  return start;
}

TextIndex::Begin TextIndex::NextBegin(std::uint64_t position, std::uint64_t end) const {
  const std::uint64_t step = rows_of_.finest();
  if (step == 0) return {.position = end};
  for (std::uint64_t known = (position / step + 1) * step; known < end; known += step) {
    if (const auto row = rows_of_.Find(known)) return {known, static_cast<Row>(*row)};
  }
  return {.position = end};
}

RowRange TextIndex::Search(std::string_view substring) const {
  RowRange rows{0, index_.rows() + index_.records()};
  for (std::size_t i = substring.size(); i-- > 0 && !rows.empty();) {
    const std::optional<Symbol> symbol = alphabet_.Find(substring[i]);
    rows = symbol ? index_.Precede(*symbol, rows) : RowRange{};
  }
  if (substring.empty()) rows.last = index_.rows();
  return rows;
}

std::optional<std::uint64_t> TextIndex::PositionOf(Row row) const {
  if (index_.IsEnd(row)) return begins_[index_.EndedRecord(row) + 1];
  return positions_at_.Find(row);
}

TextIndex::Place TextIndex::PlaceOf(std::uint64_t position) const {
  // If records begin at the same position, all but the last are empty.
  const auto record = static_cast<std::uint32_t>(begins_.LowerBound(position + 1) - 1);
  return {record, position - begins_[record]};
}

}  // namespace stout::blowfish
