#include "text_index.h"

#include <algorithm>
#include <numeric>

namespace stout::blowfish {
namespace {

SampleShape ShapeOf(std::uint64_t size) {
  return {.size = size,
          .width = BitWidth(std::max<std::uint64_t>(size, 1) - 1),
          .coarsest_exponent = TextIndex::kCoarsestExponent,
          .columns = 1U << TextIndex::kCoarsestExponent};
}

}  // namespace

ByteAlphabet::ByteAlphabet(const std::array<bool, 256>& occurs) : occurs_(occurs) {
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    if (!occurs[byte]) continue;
    symbol_of_[byte] = static_cast<std::uint8_t>(symbols_);
    bytes_[symbols_++] = static_cast<char>(byte);
  }
}

TextIndex::TextIndex(SelfIndex index, ByteAlphabet alphabet, EliasFano begins,
                     ReclaimDomain& domain)
    : index_(index),
      alphabet_(alphabet),
      begins_(begins),
      domain_(domain),
      positions_at_(ShapeOf(index_.rows()), domain),
      rows_of_(ShapeOf(index_.rows()), domain) {}

void TextIndex::FillLayers(std::uint32_t first, std::uint32_t last) {
  // In parts, for who waits for memory that is deleted meanwhile.
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
  if (offset >= end - begin) return;
  const ReclaimDomain::Guard guard(domain_);
  const std::uint64_t first = begin + offset;
  const std::uint64_t last = first + std::min(size, end - first);
  // From the nearest position before it whose row is known, if it is nearer than the record's
  // begin.
  std::uint64_t position = begin;
  Row row = index_.Start(record);
  const std::uint64_t step = rows_of_.finest();
  const std::uint64_t farthest = std::uint64_t{1} << kCoarsestExponent;
  std::uint64_t known = step > 0 ? first / step * step : begin;
  for (; known > begin && first - known < farthest; known -= step) {
    if (const auto found = rows_of_.Find(known)) {
      position = known;
      row = static_cast<Row>(*found);
      break;
    }
  }
  for (; position < last; ++position) {
    const Psi::Cursor cursor = index_.psi().At(row);
    if (position >= first) text.Append(alphabet_.Print(cursor.symbol));
    Tell(row, position);
    row = cursor.next;
  }
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
  // Of records that begin at the same position all but the last are empty.
  const auto record = static_cast<std::uint32_t>(begins_.LowerBound(position + 1) - 1);
  return {record, position - begins_[record]};
}

}  // namespace stout::blowfish
