#include "blowfish/store/shard_search.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stout::blowfish {
namespace {

/// Records that a part looks at: some tenths of a millisecond, also if they have to be unpacked.
constexpr std::size_t kPartBytes = std::size_t{64} << 10;
constexpr std::uint32_t kPartRecords = 256;
/// Beside its value, a record costs as much as these bytes.
constexpr std::size_t kBytesOfRecord = 64;

}  // namespace

ShardSearch::ShardSearch(const LogQuery& query, ShardStores stores)
    : query_(query),
      stores_(std::move(stores)),
      entries_(stores_.table->size()),
      part_(kPartRecords / 8) {
  const std::size_t attributes = stores_.table->schema().size();
  done_ = query_.kind != LogQuery::Kind::kContains && query_.attribute >= attributes;
}

bool ShardSearch::Step(const Visitor& visit) {
  if (done_) return false;
  if (!StepInStore(visit)) {
    next_ = 0;
    listed_.reset();
    ++store_;
    done_ = done_ || store_ == stores_.suffixes.size() + 3;
  }
  return !done_;
}

void ShardSearch::Keep() {
  if (stores_.succinct && !hidden_) hidden_ = *stores_.hidden;
}

bool ShardSearch::StepToCount(std::uint64_t& matches) {
  count_ = &matches;
  const bool more = Step([&](KeyView) { return ++matches, true; });
  count_ = nullptr;
  return more;
}

bool ShardSearch::StepInStore(const Visitor& visit) {
  if (store_ == 0) return StepInTable(*stores_.table, entries_, visit);
  if (store_ == 1) {
    return stores_.frozen && StepInTable(*stores_.frozen, stores_.frozen->size(), visit);
  }
  if (store_ < stores_.suffixes.size() + 2) return StepInSuffixes(SuffixesAt(store_), visit);
  return stores_.succinct && StepInSuccinct(visit);
}

const SuffixStore& ShardSearch::SuffixesAt(std::size_t store) const {
  return *stores_.suffixes[stores_.suffixes.size() + 1 - store];
}

bool ShardSearch::WasInTable(KeyView key) const {
  const LogEntry* const entry = stores_.table->Find(key);
  return entry != nullptr && static_cast<std::size_t>(entry - &stores_.table->At(0)) < entries_;
}

bool ShardSearch::WasInNewer(KeyView key) const {
  if (store_ > 0 && WasInTable(key)) return true;
  if (store_ > 1 && stores_.frozen && stores_.frozen->Find(key) != nullptr) return true;
  for (std::size_t store = 2; store < store_; ++store) {
    if (SuffixesAt(store).Find(key)) return true;
  }
  return false;
}

bool ShardSearch::See(KeyView key, const Visitor& visit) {
  if (!WasInNewer(key) && !visit(key)) done_ = true;
  return !done_;
}

bool ShardSearch::StepInTable(const LogTable& table, std::size_t entries, const Visitor& visit) {
  if (query_.kind == LogQuery::Kind::kEqual && next_ == 0) NoteList(table, entries);
  if (listed_) return StepInList(table, visit);
  for (std::size_t bytes = 0; next_ < entries && bytes < kPartBytes; ++next_) {
    const LogEntry& entry = table.At(next_);
    bytes += kBytesOfRecord + entry.record.key.size() + entry.record.value.size();
    if (table.Matches(entry, query_) && !See(entry.record.key, visit)) return false;
  }
  return next_ < entries;
}

bool ShardSearch::StepInList(const LogTable& table, const Visitor& visit) {
  for (std::uint32_t seen = 0; next_ < listed_->size() && seen < kPartRecords; ++seen) {
    const LogEntry& entry = table.At((*listed_)[next_++]);
    if (table.Matches(entry, query_) && !See(entry.record.key, visit)) return false;
  }
  return next_ < listed_->size();
}

// Links change between parts, so that a list cannot be gone on with: all of it is noted, or none.
// While a merge goes on nothing is frozen, so that a table, and a list of it, may become very long.
void ShardSearch::NoteList(const LogTable& table, std::size_t entries) {
  listed_.emplace();
  std::size_t looked = 0;
  table.ForEachListed(query_, [&](std::size_t number) {
    if (++looked > kMostListed) return false;
    if (number >= entries) return true;  // It came later.
    listed_->push_back(static_cast<std::uint32_t>(number));
    return true;
  });
  if (looked > kMostListed) listed_.reset();
}

bool ShardSearch::StepInSuffixes(const SuffixStore& store, const Visitor& visit) {
  if (query_.kind == LogQuery::Kind::kContains) {
    for (std::size_t bytes = 0; next_ < store.size() && bytes < kPartBytes; ++next_) {
      const LogEntry& entry = store.At(next_);
      bytes += kBytesOfRecord + entry.record.key.size() + entry.record.value.size();
      if (entry.deleted || entry.record.value.find(query_.text) == std::string_view::npos) continue;
      if (!See(entry.record.key, visit)) return false;
    }
    return next_ < store.size();
  }
  const auto found = query_.kind == LogQuery::Kind::kEqual
                         ? store.Search(query_.attribute, query_.text)
                         : store.SearchPrefix(query_.attribute, query_.text);
  for (std::uint32_t seen = 0; next_ < found.size() && seen < kPartRecords; ++seen) {
    if (!See(store.At(found[next_++]).record.key, visit)) return false;
  }
  return next_ < found.size();
}

bool ShardSearch::StepInSuccinct(const Visitor& visit) {
  if (query_.kind == LogQuery::Kind::kContains) return ReadRecords(visit);
  if (!rows_) {
    const std::uint64_t found = FindRows();
    subtracts_ = count_ != nullptr && Hidden().count() < found;
    if (subtracts_) *count_ += found;
  }
  return subtracts_ ? SubtractHidden() : LocateRows(visit);
}

bool ShardSearch::SeeRecord(std::uint32_t record, const Visitor& visit) {
  if (done_) return false;
  ++records_seen_;
  if (Hidden().Has(record)) return true;
  key_.clear();
  stores_.succinct->keys().AppendKey(record, key_);
  done_ = !visit(key_);
  return !done_;
}

// An index of attributes does not know where within them a text stands: it reads them all.
bool ShardSearch::ReadRecords(const Visitor& visit) {
  const std::uint32_t all = stores_.succinct->records();
  std::vector<std::uint32_t> records(std::min(part_, all - next_));
  std::iota(records.begin(), records.end(), next_);
  next_ += static_cast<std::uint32_t>(records.size());
  if (query_.text.empty()) {
    for (const std::uint32_t record : records) SeeRecord(record, visit);
    return !done_ && next_ < all;
  }
  if (!reader_) reader_.emplace(stores_.succinct->index());
  std::size_t bytes = 1;
  reader_->GetAll(records, [&](std::size_t i, std::string_view value) {
    bytes += value.size();
    if (value.find(query_.text) != std::string_view::npos) SeeRecord(records[i], visit);
  });
  // The next ones will be as large as these, on the whole.
  const std::size_t part = kPartBytes * records.size() / bytes;
  part_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(part, 1, 4 * kPartRecords));
  return !done_ && next_ < all;
}

std::uint64_t ShardSearch::FindRows() {
  const RecordIndex& index = stores_.succinct->index();
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
std::size_t ShardSearch::BytesOfRecord() const {
  return 1 + stores_.succinct->texts().value_bytes() / stores_.succinct->records();
}

// The index has one row for each record whose attribute matches: so a hidden record is among the
// rows exactly if its attribute matches.
bool ShardSearch::SubtractHidden() {
  RecordIndex& index = stores_.succinct->index();
  const std::uint32_t all = stores_.succinct->records();
  std::size_t bytes = 0;
  for (std::uint32_t seen = 0; seen < kPartRecords && bytes < kPartBytes; ++seen, ++next_) {
    next_ = Hidden().NextFrom(next_);
    if (next_ == all) return false;
    ++records_seen_;
    attribute_.Clear();
    bytes += BytesOfRecord();
    if (!index.GetAttribute(next_, query_.attribute, attribute_)) continue;
    const std::string_view value = attribute_.view();
    const bool matches = query_.kind == LogQuery::Kind::kEqual ? value == query_.text
                                                               : value.starts_with(query_.text);
    if (matches) --*count_;
  }
  return true;
}

bool ShardSearch::LocateRows(const Visitor& visit) {
  RecordIndex& index = stores_.succinct->index();
  if (rows_->empty()) return false;
  RowRange& left = rows_->back();
  const auto most = std::clamp<Row>(kPartBytes / BytesOfRecord(), 1, kPartRecords);
  const RowRange part{left.first, left.first + std::min<Row>(left.size(), most)};
  index.Locate(part, [&](std::uint32_t record) { return SeeRecord(record, visit); });
  left.first = part.last;
  if (left.empty()) rows_->pop_back();
  return !done_ && !rows_->empty();
}

}  // namespace stout::blowfish
