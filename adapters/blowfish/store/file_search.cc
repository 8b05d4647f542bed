#include "blowfish/store/file_search.h"

#include <algorithm>
#include <utility>

namespace stout::blowfish {
namespace {

/// Amount that a part looks at: some tenths of a millisecond, also if it has to be unpacked.
constexpr std::size_t kBytesOfPart = std::size_t{64} << 10;
constexpr std::uint32_t kRecordsOfPart = 256;
/// Bytes that a part reads of a text index. A byte takes a step of 20 ns.
constexpr std::size_t kStepsOfPart = std::size_t{16} << 10;
/// Rows that a part locates in a text index, at first and at most. A row takes up to 512 steps on
/// average, but more in a text that repeats itself.
constexpr Row kFirstRowsOfPart = 16;
constexpr Row kMaxRowsOfPart = 64;

}  // namespace

FileSearch::FileSearch(const LogQuery& query, const SearchedFile& file)
    : query_(query),
      file_(&file),
      bytes_of_part_(file.store->text() ? kStepsOfPart : kBytesOfPart),
      part_(file.store->EndOfPart(0, bytes_of_part_, kRecordsOfPart / 8)),
      rows_of_part_(kFirstRowsOfPart) {}

bool FileSearch::Step(const Visitor& visit) {
  if (file_->store->records() == 0) return false;
  if (ReadsAll()) return ReadRecords(visit);
  if (candidates_) return LocateCandidates(visit);
  if (!rows_) FindRows();
  return LocateRows(visit);
}

bool FileSearch::StepToCount(std::uint64_t& matches) {
  if (file_->store->records() == 0) return false;
  const Visitor count = [&](KeyView) { return ++matches, true; };
  if (ReadsAll()) return ReadRecords(count);
  if (candidates_) return LocateCandidates(count);
  if (!rows_) {
    const std::uint64_t found = FindRows();
    subtracts_ = file_->hidden->count() < found;
    if (subtracts_) matches += found;
  }
  return subtracts_ ? SubtractHidden(matches) : LocateRows(count);
}

std::uint64_t FileSearch::TakeRecordsSeen() { return std::exchange(records_seen_, 0); }

bool FileSearch::See(std::uint32_t record, const Visitor& visit) {
  if (enough_) return false;
  ++records_seen_;
  if (file_->hidden->Has(record)) return true;
  key_.clear();
  file_->store->keys().AppendKey(record, key_);
  enough_ = !visit(key_);
  return !enough_;
}

bool FileSearch::ReadsAll() {
  switch (file_->store->encoding()) {
    case Encoding::kIndex:
      return query_.kind == LogQuery::Kind::kContains;
    case Encoding::kText:
      if (!std::exchange(looked_, true)) FindInText();
      return !candidates_;
    default:
      return true;
  }
}

void FileSearch::FindInText() {
  const SuccinctStore& store = *file_->store;
  const TextIndex& text = *store.text();
  auto found = FindCandidates(query_, store.schema(), text);
  if (!found) return;
  std::uint64_t rows = 0;
  for (const RowRange& range : found->rows) rows += range.size();
  const std::uint64_t steps = text.StepsToLocate() + (found->certain ? 0 : BytesOfRecord());
  if (rows * steps > store.value_bytes()) return;
  candidates_ = std::move(found);
  located_.resize(rows > 0 ? store.records() : 0);
}

bool FileSearch::LocateCandidates(const Visitor& visit) {
  if (!to_read_.empty()) return ReadCandidates(visit);
  if (steps_ > file_->store->value_bytes()) {
    candidates_.reset();  // Reads the other records.
    return true;
  }
  std::vector<RowRange>& rows = candidates_->rows;
  while (!rows.empty() && rows.back().empty()) rows.pop_back();
  if (rows.empty()) return false;
  TextIndex& text = *file_->store->text();
  RowRange& left = rows.back();
  const RowRange part{left.first, left.first + std::min<Row>(left.size(), rows_of_part_)};
  left.first = part.last;
  const std::uint64_t steps = text.Locate(part, [&](std::uint32_t record, std::uint64_t offset) {
    ++records_seen_;
    if ((candidates_->at_begin && offset > 0) || located_[record]) return true;
    located_[record] = true;
    if (candidates_->certain) return See(record, visit);
    if (!file_->hidden->Has(record)) to_read_.push_back(record);
    return true;
  });
  steps_ += steps;
  const std::uint64_t rows_of_part = 2 * kStepsOfPart * part.size() / (steps + 1);
  rows_of_part_ = static_cast<Row>(std::clamp<std::uint64_t>(rows_of_part, 1, kMaxRowsOfPart));
  return !enough_;
}

bool FileSearch::ReadCandidates(const Visitor& visit) {
  const TextIndex& text = *file_->store->text();
  std::vector<std::uint32_t> records;
  for (std::size_t bytes = 0; !to_read_.empty() && bytes < bytes_of_part_; to_read_.pop_back()) {
    records.push_back(to_read_.back());
    bytes += text.SizeOf(records.back());
    steps_ += text.SizeOf(records.back());
  }
  Reader().GetAll(records, [&](std::size_t i, std::string_view value) {
    if (Matches(value)) See(records[i], visit);
  });
  return !enough_;
}

bool FileSearch::Matches(std::string_view value) const {
  return query_.Matches(value, file_->store->schema());
}

ValueReader& FileSearch::Reader() {
  if (!reader_) reader_.emplace(*file_->store, ReadFor::kScan);
  return *reader_;
}

std::uint32_t FileSearch::EndOfPart() const {
  const SuccinctStore& store = *file_->store;
  return store.text() ? store.EndOfPart(next_, bytes_of_part_, 4 * kRecordsOfPart)
                      : next_ + std::min(part_, store.records() - next_);
}

// An index of attributes does not know where within them a text stands: it reads them all.
bool FileSearch::ReadRecords(const Visitor& visit) {
  const std::uint32_t all = file_->store->records();
  std::vector<std::uint32_t> records;
  for (const std::uint32_t end = EndOfPart(); next_ < end; ++next_) {
    if (located_.empty() || !located_[next_]) records.push_back(next_);
  }
  if (query_.kind == LogQuery::Kind::kContains && query_.text.empty()) {
    for (const std::uint32_t record : records) See(record, visit);
    return !enough_ && next_ < all;
  }
  std::size_t bytes = 1;
  Reader().GetAll(records, [&](std::size_t i, std::string_view value) {
    bytes += value.size();
    if (Matches(value)) See(records[i], visit);
  });
  // The next records will be about as large. If they are larger, the part is not much too long.
  const std::size_t part =
      std::min<std::size_t>(bytes_of_part_ * records.size() / bytes, std::size_t{2} * part_);
  part_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(part, 1, 4 * kRecordsOfPart));
  return !enough_ && next_ < all;
}

std::uint64_t FileSearch::FindRows() {
  const RecordIndex& index = file_->store->index();
  rows_.emplace();
  if (query_.kind == LogQuery::Kind::kPrefix) {
    *rows_ = index.SearchPrefix(query_.attribute, query_.text);
  } else {
    rows_->push_back(index.Search(query_.attribute, query_.text));
  }
  std::uint64_t found = 0;
  for (const RowRange& rows : *rows_) found += rows.size();
  return found;
}

// The way to an attribute, and to the end of a record, is as long as the record, if layers do not
// make it shorter.
std::size_t FileSearch::BytesOfRecord() const {
  return 1 + file_->store->value_bytes() / file_->store->records();
}

// The index has one row for each record whose attribute matches: so a hidden record is among the
// rows exactly if its attribute matches.
bool FileSearch::SubtractHidden(std::uint64_t& matches) {
  const std::uint32_t all = file_->store->records();
  std::size_t bytes = 0;
  for (std::uint32_t seen = 0; seen < kRecordsOfPart && bytes < kBytesOfPart; ++seen, ++next_) {
    next_ = file_->hidden->NextFrom(next_);
    if (next_ == all) return false;
    ++records_seen_;
    bytes += BytesOfRecord();
    const auto value = Reader().GetAttribute(next_, query_.attribute);
    if (value && query_.MatchesAttribute(*value)) --matches;
  }
  return true;
}

bool FileSearch::LocateRows(const Visitor& visit) {
  RecordIndex& index = file_->store->index();
  if (rows_->empty()) return false;
  RowRange& left = rows_->back();
  const auto most = std::clamp<Row>(kBytesOfPart / BytesOfRecord(), 1, kRecordsOfPart);
  const RowRange part{left.first, left.first + std::min<Row>(left.size(), most)};
  index.Locate(part, [&](std::uint32_t record) { return See(record, visit); });
  left.first = part.last;
  if (left.empty()) rows_->pop_back();
  return !enough_ && !rows_->empty();
}

}  // namespace stout::blowfish
