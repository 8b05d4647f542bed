#include "blowfish/store/shard_search.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stout::blowfish {
namespace {

/// What a part looks at in memory: some tenths of a millisecond.
constexpr std::size_t kPartBytes = std::size_t{64} << 10;
constexpr std::uint32_t kPartRecords = 256;
/// Beside its value, a record costs as much as these bytes.
constexpr std::size_t kBytesOfRecord = 64;

}  // namespace

ShardSearch::ShardSearch(const LogQuery& query, ShardStores stores)
    : query_(query), stores_(std::move(stores)), entries_(stores_.table->size()) {
  const std::size_t attributes = stores_.table->schema().size();
  done_ = query_.kind != LogQuery::Kind::kContains && query_.attribute >= attributes;
}

bool ShardSearch::Step(const Visitor& visit) {
  if (done_) return false;
  if (!StepInStore(visit)) {
    next_ = 0;
    listed_.reset();
    in_file_.reset();
    ++store_;
    done_ = done_ || store_ == 2 + stores_.suffixes.size() + stores_.files.size();
  }
  return !done_;
}

void ShardSearch::Keep() {
  if (!hidden_.empty()) return;
  hidden_.reserve(stores_.files.size());
  for (SearchedFile& file : stores_.files) file.hidden = &hidden_.emplace_back(*file.hidden);
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
  const std::size_t newer = store_ - 2 - stores_.suffixes.size();
  return StepInFile(stores_.files[stores_.files.size() - 1 - newer], visit);
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
    if (++looked > kMaxListed) return false;
    if (number >= entries) return true;  // It came later.
    listed_->push_back(static_cast<std::uint32_t>(number));
    return true;
  });
  if (looked > kMaxListed) listed_.reset();
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

bool ShardSearch::StepInFile(const SearchedFile& file, const Visitor& visit) {
  if (!in_file_) in_file_.emplace(query_, file);
  const auto see = [&](KeyView key) {
    done_ = !visit(key);
    return !done_;
  };
  const bool more = count_ ? in_file_->StepToCount(*count_) : in_file_->Step(see);
  records_seen_ += in_file_->TakeRecordsSeen();
  return more;
}

}  // namespace stout::blowfish
