#include "blowfish/index/text_index.h"

#include <algorithm>
#include <numeric>

namespace stout::blowfish {
namespace {

SampleShape ShapeOf(std::uint64_t size) {
  return {.size = size,
          .width = BitWidth(std::max<std::uint64_t>(size, 1) - 1),
          .coarsest_exponent = TextSamples::kExponent,
          .coarsest_implied = true,
          .columns = TextSamples::kDistance};
}

}  // namespace

TextIndex::TextIndex(SelfIndex index, ByteAlphabet alphabet, EliasFano begins, TextSamples samples)
    : index_(index),
      alphabet_(alphabet),
      begins_(begins),
      samples_(samples),
      layers_(ShapeOf(index_.rows())) {}

std::uint32_t TextIndex::EndOfPart(std::uint32_t first, std::uint64_t bytes,
                                   std::uint32_t records) const {
  const std::uint32_t most = first + std::min(records, this->records() - first);
  std::uint32_t end = first;
  for (std::uint64_t read = 0; end < most; ++end) {
    read += SizeOf(end);
    if (read > bytes && end > first) break;
  }
  return end;
}

void TextIndex::FillLayers(IndexLayers& layers, std::uint32_t first, std::uint32_t last) const {
  std::vector<std::uint32_t> records(last - first);
  std::iota(records.begin(), records.end(), first);
  ReadAll(
      records, [](std::size_t, std::string_view) {},
      [&](Row row, std::uint64_t position) { FillAt(layers, row, position); });
}

void TextIndex::Extract(std::uint32_t record, std::uint64_t offset, std::uint64_t size,
                        TextBuffer& text) {
  if (offset >= SizeOf(record)) return;
  const std::uint64_t first = begins_[record] + offset;
  const std::uint64_t last = first + std::min(size, begins_[record + 1] - first);
  const auto row_of = [this](std::uint64_t position) -> std::optional<Row> {
    if (const auto row = samples_.RowOf(position)) return row;
    if (const auto row = rows_of().Find(position)) return static_cast<Row>(*row);
    return std::nullopt;
  };
  if (!layers_.filling())
    return ReadPart(
        record, first, last, rows_of().finest(), row_of, [](Row, std::uint64_t) {}, text);
  ReadPart(
      record, first, last, rows_of().finest(), row_of,
      [this](Row row, std::uint64_t position) { FillAt(layers_, row, position); }, text);
}

RowRange TextIndex::Search(std::string_view substring) const {
  if (substring.empty()) return {0, index_.rows()};
  return Search(substring, {0, index_.rows() + index_.records()});
}

RowRange TextIndex::SearchAtEnd(std::string_view substring) const {
  return Search(substring, index_.Ends());
}

RowRange TextIndex::Search(std::string_view substring, RowRange following) const {
  RowRange rows = following;
  for (std::size_t i = substring.size(); i-- > 0 && !rows.empty();) {
    const std::optional<Symbol> symbol = alphabet_.Find(substring[i]);
    rows = symbol ? index_.Precede(*symbol, rows) : RowRange{};
  }
  return rows;
}

// The position of each `finest`-th row is known, and that of each end of a record.
std::uint64_t TextIndex::StepsToLocate() const {
  const std::uint64_t to_end = bytes() / std::max(records(), 1U) / 2;
  return 1 + std::min<std::uint64_t>(to_end, positions_at().finest());
}

std::optional<std::uint64_t> TextIndex::PositionOf(Row row) const {
  if (index_.IsEnd(row)) return begins_[index_.EndedRecord(row) + 1];
  if (const auto position = samples_.PositionOf(row)) return position;
  return positions_at().Find(row);
}

TextIndex::Place TextIndex::PlaceOf(std::uint64_t position) const {
  // If records begin at the same position, all but the last are empty.
  const auto record = static_cast<std::uint32_t>(begins_.LowerBound(position + 1) - 1);
  return {record, position - begins_[record]};
}

}  // namespace stout::blowfish
