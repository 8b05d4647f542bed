#include "blowfish/index/record_index.h"

#include <algorithm>
#include <numeric>

#include "blowfish/index/record_texts.h"

namespace stout::blowfish {
namespace {

// Shape for the ordinals from 0 (the end of the record) to that of the first attribute.
SampleShape ShapeOf(std::uint32_t records, std::size_t attributes) {
  const int exponent = BitWidth(attributes);
  return {.size = std::uint64_t{records} << exponent,
          .width = BitWidth(std::max(records, 1U) - 1),
          .coarsest_exponent = exponent,
          .coarsest_implied = true,
          .columns = static_cast<std::uint32_t>(attributes) + 1};
}

}  // namespace

RecordIndex::RecordIndex(SelfIndex index, TokenAlphabet alphabet)
    : texts_(index, alphabet),
      speller_(alphabet),
      anchors_(index, alphabet),
      layers_(ShapeOf(records(), attributes())) {}

void RecordIndex::FillLayers(IndexLayers& layers, std::uint32_t first, std::uint32_t last) const {
  std::vector<std::uint32_t> records(last - first);
  std::iota(records.begin(), records.end(), first);
  Teller teller(anchors_, layers);
  RecordTexts::Reader(texts()).GetAll(
      records, [](std::size_t, std::string_view) {},
      [&](Row row, std::uint32_t record) { teller.Pass(row, record); });
  teller.Finish();
}

RecordIndex::Lacking::Lacking(const Anchors& anchors, const IndexLayers& layers) {
  if (!layers.filling()) return;
  // The higher the ordinal, the higher the rows.
  for (std::uint32_t ordinal = 1; ordinal <= anchors.attributes(); ++ordinal) {
    if (!layers.searches.filling(ordinal) && !layers.reads.filling(ordinal)) continue;
    const RowRange rows = anchors.RowsOf(ordinal);
    if (rows_.empty()) rows_.first = rows.first;
    rows_.last = rows.last;
    ordinals_.set(ordinal);
  }
}

RecordIndex::Column::Column(const RecordIndex& index, RowRange rows)
    : index_(index), rows_(rows), ordinal_(index.anchors_.At(rows.first).ordinal) {
  if (index.records_at().filling()) return;  // RecordAt is to see every step.
  const auto goes_on = [&] {
    return ordinal_ > 0 && !index.records_at().full(ordinal_) &&
           index.alphabet().attribute(index.anchors_.AttributeOf(ordinal_)).one_each();
  };
  for (; goes_on(); --ordinal_) ++steps_;
}

void RecordIndex::Column::March() {
  at_ = 0;
  size_ = std::min(rows_.size(), Psi::kBlock - rows_.first % Psi::kBlock);
  const auto cursors = std::span(cursors_).first(size_);
  Row row = rows_.first;
  rows_.first += static_cast<Row>(size_);
  if (steps_ == 0) {
    for (Psi::Cursor& cursor : cursors) cursor.next = row++;
    return;
  }
  const Psi& psi = index_.self_index().psi();
  psi.StepBlock(row, cursors);
  const Row highest = index_.self_index().rows() - 1;
  for (std::uint32_t step = 1; step < steps_; ++step) {
    for (Psi::Cursor& cursor : cursors) {
      cursor.row = std::min(cursor.next, highest);  // A Psi that is wrong may go beyond.
      psi.Prefetch(cursor.row);
    }
    psi.Step(cursors);
  }
}

std::span<const std::uint32_t> RecordIndex::Column::TakeRecords() {
  if (ordinal_ > 0 && !index_.records_at().full(ordinal_)) return {};
  if (at_ == size_) {
    if (rows_.empty()) return {};
    March();
  }
  const auto rows = std::span(cursors_).first(size_).subspan(at_);
  const auto records = std::span(records_).first(rows.size());
  if (ordinal_ == 0) {
    std::ranges::transform(rows, records.begin(), [&](const Psi::Cursor& cursor) {
      return index_.self_index().EndedRecord(cursor.next);
    });
  } else {
    // Places, and then the records there.
    const Row first = index_.anchors_.RowsOf(ordinal_).first;
    std::ranges::transform(rows, records.begin(), [&](const Psi::Cursor& cursor) {
      return std::min(cursor.next - first, index_.records() - 1);  // A wrong Psi may go beyond.
    });
    if (!index_.records_at().Gather(ordinal_, records)) return {};
  }
  at_ = size_;
  return records;
}

std::optional<std::uint32_t> RecordIndex::RecordAt(Row row, Passed& passed) const {
  if (self_index().IsEnd(row)) return self_index().EndedRecord(row);
  const Anchors::Anchor anchor = anchors_.At(row);
  if (anchor.ordinal == 0) return std::nullopt;
  if (const auto record = records_at().Find(IndexAt(anchor))) {
    return static_cast<std::uint32_t>(*record);
  }
  if (records_at().Wants(IndexAt(anchor))) passed.Add(anchor);
  return std::nullopt;
}

bool RecordIndex::GetAttribute(std::uint32_t record, std::size_t attribute, TextBuffer& value) {
  // From the nearest anchor before it that is known.
  const std::uint32_t wanted = anchors_.OrdinalOf(attribute);
  Row row = self_index().Start(record);
  for (std::uint32_t ordinal = wanted; ordinal < anchors_.attributes(); ++ordinal) {
    if (const auto place = places_of().Find(places_of().shape().Index(record, ordinal))) {
      row = anchors_.RowOf({ordinal, static_cast<Row>(*place)});
      break;
    }
  }
  bool reading = false;
  const std::size_t before = value.size();
  for (std::uint64_t steps = 0; !self_index().IsEnd(row) && steps <= self_index().rows(); ++steps) {
    if (value.size() - before > value_bytes()) break;
    const Anchors::Anchor anchor = anchors_.At(row);
    if (reading && anchor.ordinal != 0) break;
    const Psi::Cursor cursor = self_index().psi().At(row);
    if (anchor.ordinal != 0) Tell(layers_, anchor, record);
    if (anchor.ordinal == wanted) {
      const TokenAlphabet::Attribute& a = alphabet().attribute(attribute);
      if (a.lacking && cursor.symbol == a.first) return false;
      value.Append(alphabet().Piece(attribute, cursor.symbol));
      reading = true;
    } else if (reading) {
      texts_.Print(cursor.symbol, value);
    }
    row = cursor.next;
  }
  return true;
}

RowRange RecordIndex::Search(std::size_t attribute, std::string_view value) const {
  const auto symbols = speller_.Spell(attribute, value);
  if (!symbols) return {};
  const TokenAlphabet::Attribute& a = alphabet().attribute(attribute);
  if (a.one_each()) return self_index().RowsOf(symbols->front(), symbols->front() + 1U);
  for (const Symbol symbol : *symbols) self_index().Prefetch(symbol);
  // The symbols after the value: the next attribute, or the end of the record. Without them "1"
  // would be found in "10".
  const std::uint32_t ordinal = anchors_.OrdinalOf(attribute);
  RowRange rows = ordinal == 1 ? self_index().Ends() : anchors_.RowsOf(ordinal - 1);
  for (auto symbol = symbols->rbegin(); symbol != symbols->rend() && !rows.empty(); ++symbol) {
    rows = self_index().Precede(*symbol, rows);
  }
  return rows;
}

std::vector<RowRange> RecordIndex::SearchPrefix(std::size_t attribute,
                                                std::string_view prefix) const {
  std::vector<RowRange> found;
  for (const Speller::Beginning& beginning : speller_.SpellPrefix(attribute, prefix)) {
    RowRange rows = self_index().RowsOf(beginning.last.first, beginning.last.last);
    const auto& symbols = beginning.symbols;
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend() && !rows.empty(); ++symbol) {
      rows = self_index().Precede(*symbol, rows);
    }
    if (!rows.empty()) found.push_back(rows);
  }
  return found;
}

}  // namespace stout::blowfish
