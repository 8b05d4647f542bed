#include "shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <numeric>
#include <utility>

#include "atomic_file.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kRecordsSuffix = ".records";

/// How many keys of a merge that is taken over are hidden in one go: a millisecond or two.
constexpr std::size_t kHideAtOnce = 1000;

/// How long a compaction rests that has failed: a full disk stays so for a while.
constexpr std::uint64_t kRestMs = 5000;

std::uint64_t SystemNowMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

ShardOptions WithDefaults(ShardOptions options) {
  if (!options.now_ms) options.now_ms = SystemNowMs;
  if (!options.wake) options.wake = [] {};
  return options;
}

}  // namespace

Shard::Shard(std::string directory, ReclaimDomain& domain, ShardOptions options)
    : directory_(std::move(directory)),
      domain_(domain),
      options_(WithDefaults(std::move(options))) {}

Result<std::unique_ptr<Shard>> Shard::Open(const std::string& directory, ReclaimDomain& domain,
                                           ShardOptions options, ShardReport* report,
                                           Diagnostics* diagnostics) {
  std::unique_ptr<Shard> shard(new Shard(directory, domain, std::move(options)));
  if (const ErrorCode failed = shard->Recover(report, diagnostics)) return failed;
  return shard;
}

ErrorCode Shard::Recover(ShardReport* report, Diagnostics* diagnostics) {
  const auto start = std::chrono::steady_clock::now();
  ShardReport found;
  // It makes the directory, and keeps others out of it.
  auto log_directory = OpenLogDirectory(directory_ + "/log", diagnostics);
  if (!log_directory) return log_directory.error();
  log_directory_ = std::move(*log_directory);

  if (const ErrorCode failed = FindManifest(diagnostics)) return failed;
  if (!manifest_.records.empty()) {
    auto opened = SuccinctStore::Open(directory_ + "/" + manifest_.records, domain_,
                                      Verify::kEverything, diagnostics);
    if (!opened) return opened.error();
    const std::uint32_t records = (*opened)->records();
    Show(std::move(*opened), HiddenRecords(records));
    size_ = found.records = succinct_->records();
  }

  LogStoreOptions log{.shard = manifest_.shard,
                      .schema = manifest_.schema,
                      .first_sequence = manifest_.first_sequence,
                      .wake = options_.wake};
  log.older_stamp = [this](KeyView key) -> std::optional<Stamp> {
    const auto newest = FindOlder(key);
    if (!newest) return std::nullopt;
    return newest->stamp;
  };
  log.on_apply = [this](const Operation& operation, const LogEntry* before) {
    OnApply(operation, before);
  };
  auto opened = LogStore::Open(*log_directory_, std::move(log), &found.log, diagnostics);
  if (!opened) return opened.error();
  log_ = std::move(*opened);
  RemoveStrays();  // Only now: all that the manifest names is there.
  found.took = std::chrono::steady_clock::now() - start;
  if (report) *report = found;
  return {};
}

void Shard::Show(std::shared_ptr<SuccinctStore> store, HiddenRecords hidden) {
  reader_.reset();
  succinct_ = std::move(store);
  reader_.emplace(succinct_->index());
  hidden_ = std::move(hidden);
}

// The manifest, or the one of a new shard. Without it, what a shard has left is not touched.
ErrorCode Shard::FindManifest(Diagnostics* diagnostics) {
  std::error_code ignored;
  if (std::filesystem::exists(directory_ + "/" + kManifestName, ignored)) {
    auto manifest = ReadManifest(directory_, diagnostics);
    if (!manifest) return manifest.error();
    manifest_ = std::move(*manifest);
    return {};
  }
  for (const auto& file : std::filesystem::directory_iterator(directory_, ignored)) {
    if (!file.path().filename().string().ends_with(kRecordsSuffix)) continue;
    if (diagnostics) {
      diagnostics->message = fmt::format(
          "{}: there are records, but no file '{}' that names them; restore it from a copy",
          directory_, kManifestName);
    }
    return Errc::kCorrupt;
  }
  manifest_ = {.schema = options_.schema, .shard = options_.shard};
  return WriteManifest(directory_, manifest_, diagnostics);
}

// Files of compactions that did not come to their end.
void Shard::RemoveStrays() {
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = file.path().filename().string();
    const bool old = name.ends_with(kRecordsSuffix) && name != manifest_.records;
    const bool unfinished = name.find(kTemporaryMark) != std::string::npos;
    if (old || unfinished) std::filesystem::remove(file.path(), ignored);
  }
}

// --- Queries -------------------------------------------------------------------------------------

Shard::Newest Shard::Of(const LogEntry& entry) {
  return {entry.record.stamp, entry.deleted, entry.record.value, std::nullopt};
}

std::optional<Shard::Newest> Shard::Find(KeyView key) const {
  if (const LogEntry* const entry = log_->table().Find(key)) return Of(*entry);
  return FindOlder(key);
}

std::optional<Shard::Newest> Shard::FindOlder(KeyView key) const {
  if (frozen_) {
    if (const LogEntry* const entry = frozen_->table->Find(key)) return Of(*entry);
  }
  for (std::size_t i = suffixes_.size(); i-- > 0;) {
    if (const auto entry = suffixes_[i]->Find(key)) return Of(suffixes_[i]->At(*entry));
  }
  if (!succinct_) return std::nullopt;
  if (const auto record = succinct_->keys().Find(key)) {
    const auto number = static_cast<std::uint32_t>(*record);
    return Newest{succinct_->StampOf(number), false, {}, number};
  }
  if (const auto deleted = succinct_->deleted_keys().Find(key)) {
    return Newest{succinct_->TombstoneOf(*deleted).stamp, true, {}, std::nullopt};
  }
  return std::nullopt;
}

bool Shard::IsInNewer(KeyView key, std::size_t i) const {
  if (IsInNewer(key) || (frozen_ && frozen_->table->Find(key) != nullptr)) return true;
  for (++i; i < suffixes_.size(); ++i) {
    if (suffixes_[i]->Find(key)) return true;
  }
  return false;
}

void Shard::Read(std::span<const std::string_view> keys, const ReadVisitor& visit) {
  std::vector<std::uint32_t> records;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto newest = Find(keys[i]);
    if (!newest) continue;
    if (newest->record) {
      records.push_back(*newest->record);
      places.push_back(i);
    } else if (newest->deleted) {
      visit(i, newest->stamp, std::nullopt);
    } else {
      visit(i, newest->stamp, newest->value);
    }
  }
  if (records.empty()) return;
  reader_->GetAll(records, [&](std::size_t i, std::string_view value) {
    visit(places[i], succinct_->StampOf(records[i]), value);
  });
}

std::vector<std::string> Shard::KeysAfter(std::optional<std::string_view> after,
                                          std::size_t count) const {
  FirstKeys first(count);
  OfferTable(log_->table(), after, first);
  if (frozen_) OfferTable(*frozen_->table, after, first);
  for (std::size_t i = 0; i < suffixes_.size(); ++i) OfferSuffixes(i, after, first);
  if (succinct_) OfferSuccinct(after, first);
  return first.Take();
}

void Shard::OfferTable(const LogTable& table, std::optional<std::string_view> after,
                       FirstKeys& first) const {
  const bool frozen = &table != &log_->table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const LogEntry& entry = table.At(i);
    const KeyView key = entry.record.key;
    if (entry.deleted || (after && key <= *after) || (frozen && IsInNewer(key))) continue;
    (void)first.Offer(key);
  }
}

void Shard::OfferSuffixes(std::size_t i, std::optional<std::string_view> after,
                          FirstKeys& first) const {
  const SuffixStore& store = *suffixes_[i];
  for (std::uint32_t entry = after ? store.LowerBound(*after) : 0; entry < store.size(); ++entry) {
    const LogEntry& at = store.At(entry);
    const KeyView key = at.record.key;
    if (at.deleted || key == after || IsInNewer(key, i)) continue;
    if (!first.Offer(key)) return;
  }
}

void Shard::OfferSuccinct(std::optional<std::string_view> after, FirstKeys& first) const {
  const KeyDirectory& keys = succinct_->keys();
  keys.Scan(after ? keys.LowerBound(*after) : 0, [&](std::uint64_t record, KeyView key) {
    return key == after || hidden_.Has(static_cast<std::uint32_t>(record)) || first.Offer(key);
  });
}

std::vector<std::string> Shard::Search(const LogQuery& query, std::size_t limit) {
  std::vector<std::string> keys;
  if (limit == 0) return keys;
  ForEachMatch(query, [&](KeyView key) {
    keys.emplace_back(key);
    return keys.size() < limit;
  });
  return keys;
}

std::uint64_t Shard::Count(const LogQuery& query) {
  std::uint64_t count = 0;
  ForEachMatch(query, [&](KeyView) {
    ++count;
    return true;
  });
  return count;
}

void Shard::ForEachMatch(const LogQuery& query, const KeyVisitor& visit) {
  if (query.kind != LogQuery::Kind::kContains && query.attribute >= schema().size()) return;
  for (const Record& record : log_->table().Search(query)) {
    if (!visit(record.key)) return;
  }
  if (frozen_) {
    for (const Record& record : frozen_->table->Search(query)) {
      if (!IsInNewer(record.key) && !visit(record.key)) return;
    }
  }
  for (std::size_t i = suffixes_.size(); i-- > 0;) {
    if (!ForEachMatchInSuffixes(query, i, visit)) return;
  }
  if (succinct_) ForEachMatchInSuccinct(query, visit);
}

bool Shard::ForEachMatchInSuffixes(const LogQuery& query, std::size_t i,
                                   const KeyVisitor& visit) const {
  const SuffixStore& store = *suffixes_[i];
  const auto see = [&](std::uint32_t entry) {
    const KeyView key = store.At(entry).record.key;
    return IsInNewer(key, i) || visit(key);
  };
  switch (query.kind) {
    case LogQuery::Kind::kEqual:
      return std::ranges::all_of(store.Search(query.attribute, query.text), see);
    case LogQuery::Kind::kPrefix:
      return std::ranges::all_of(store.SearchPrefix(query.attribute, query.text), see);
    case LogQuery::Kind::kContains:
      for (std::uint32_t entry = 0; entry < store.size(); ++entry) {
        const LogEntry& at = store.At(entry);
        if (at.deleted || at.record.value.find(query.text) == std::string_view::npos) continue;
        if (!see(entry)) return false;
      }
      return true;
  }
  return true;
}

bool Shard::ForEachMatchInSuccinct(const LogQuery& query, const KeyVisitor& visit) {
  RecordIndex& index = succinct_->index();
  bool more = true;
  std::string key;
  const auto see = [&](std::uint32_t record) {
    if (hidden_.Has(record)) return true;
    key.clear();
    succinct_->keys().AppendKey(record, key);
    return more = visit(key);
  };
  switch (query.kind) {
    case LogQuery::Kind::kEqual:
      index.Locate(index.Search(query.attribute, query.text), see);
      break;
    case LogQuery::Kind::kPrefix:
      for (const RowRange rows : index.SearchPrefix(query.attribute, query.text)) {
        if (more) index.Locate(rows, see);
      }
      break;
    case LogQuery::Kind::kContains: {
      // An index of attributes does not know where within them a text stands: it reads them all.
      constexpr std::uint32_t kPart = 1024;
      std::vector<std::uint32_t> records;
      for (std::uint32_t first = 0; more && first < index.records(); first += records.size()) {
        records.resize(std::min(kPart, index.records() - first));
        std::iota(records.begin(), records.end(), first);
        reader_->GetAll(records, [&](std::size_t i, std::string_view value) {
          if (more && value.find(query.text) != std::string_view::npos) see(records[i]);
        });
      }
      break;
    }
  }
  return more;
}

// --- Writes --------------------------------------------------------------------------------------

void Shard::Write(const WriteBatch& batch, Store::WriteHandler handler) {
  log_->Write(batch, options_.now_ms(), std::move(handler));
}

// The log's table is about to take an operation, and has `before` of the key.
void Shard::OnApply(const Operation& operation, const LogEntry* before) {
  const auto newest = before ? Of(*before) : FindOlder(operation.key);
  size_ += operation.kind == Operation::Kind::kPut;
  size_ -= newest && !newest->deleted;
  if (newest && newest->record) hidden_.Hide(*newest->record);
}

// --- Compactions ---------------------------------------------------------------------------------

bool Shard::Idle() const {
  return job_ == Job::kNone && !frozen_ && !WantsMerge() && !WantsFreeze();
}

void Shard::Poll() {
  log_->Poll();
  std::optional<Finished> finished;
  {
    const std::lock_guard lock(inbox_.mutex);
    finished = std::exchange(inbox_.finished, std::nullopt);
  }
  if (finished) TakeOver(std::move(*finished));
  if (job_ == Job::kTakingOver) HideSome();
  if (job_ == Job::kNone) Begin();
}

void Shard::Begin() {
  if (options_.now_ms() < retry_at_ms_) return;
  if (frozen_) return BeginSort();
  if (WantsMerge()) return BeginMerge();
  if (WantsFreeze()) return BeginFreeze();
}

bool Shard::WantsMerge() const { return merge_now_ || unmerged_bytes_ >= options_.merge_bytes; }

bool Shard::WantsFreeze() const {
  return compact_now_ || log_->table().bytes() >= options_.freeze_bytes ||
         unmerged_bytes_ + log_->log_bytes() >= options_.merge_bytes;
}

void Shard::BeginFreeze() {
  job_ = Job::kFreezing;
  merge_now_ = std::exchange(compact_now_, false);
  log_->Freeze([this](ErrorCode failed, FrozenLog frozen) {
    job_ = Job::kNone;
    if (failed) return Fail(failed.message());
    unmerged_bytes_ += frozen.bytes;
    frozen_ = std::move(frozen);
    ++stats_.freezes;
    options_.wake();
  });
}

void Shard::BeginSort() {
  Run(Job::kSorting, [table = frozen_->table] {
    return Finished{.suffixes = std::make_shared<const SuffixStore>(*table)};
  });
}

void Shard::BeginMerge() {
  const std::string name = fmt::format("{:020}{}", suffixes_through_ + 1, kRecordsSuffix);
  const std::string path = directory_ + "/" + name;
  const auto life = static_cast<std::uint64_t>(options_.tombstone_life.count());
  const std::uint64_t now = options_.now_ms();
  const std::uint64_t forget_before = now - std::min(now, life);
  Run(Job::kMerging, [this, name, path, forget_before, oldest = succinct_, newer = suffixes_] {
    Finished finished{.records = name};
    Diagnostics why;
    const auto merged = Merge(oldest.get(), newer, manifest_.schema, forget_before, path, &why);
    finished.failed = merged ? ErrorCode() : merged.error();
    if (merged) {
      finished.report = *merged;
      auto opened = SuccinctStore::Open(path, domain_, Verify::kHeader, &why);
      finished.failed = opened ? ErrorCode() : opened.error();
      if (opened) finished.succinct = std::move(*opened);
    }
    finished.why = why.message;
    return finished;
  });
}

void Shard::Run(Job job, UniqueFunction<Finished()> work) {
  job_ = job;
  background_ = std::jthread([this, work = std::move(work)]() mutable {
    Finished finished;
    try {
      finished = work();
    } catch (const std::exception& error) {  // Of memory, mostly.
      finished = {.failed = Errc::kTransient, .why = error.what()};
    }
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.finished = std::move(finished);
    }
    options_.wake();
  });
}

void Shard::TakeOver(Finished finished) {
  const Job job = std::exchange(job_, Job::kNone);
  if (finished.failed) return Fail(finished.why);
  if (job == Job::kSorting) {
    suffixes_.push_back(std::move(finished.suffixes));
    suffixes_through_ = frozen_->through;
    frozen_.reset();
    return;
  }
  job_ = Job::kTakingOver;
  merged_hidden_ = HiddenRecords(finished.succinct->records());
  merged_seen_ = 0;
  merged_ = std::move(finished);
}

// The only store newer than what was merged is the log's table: nothing is frozen meanwhile. Its
// entries stay where they are, so those that come while others are looked at are not missed.
void Shard::HideSome() {
  const LogTable& table = log_->table();
  const std::size_t last = std::min(merged_seen_ + kHideAtOnce, table.size());
  for (; merged_seen_ < last; ++merged_seen_) {
    const KeyView key = table.At(merged_seen_).record.key;
    if (const auto record = merged_->succinct->keys().Find(key)) {
      merged_hidden_.Hide(static_cast<std::uint32_t>(*record));
    }
  }
  if (merged_seen_ == table.size()) {
    Install();
  } else {
    options_.wake();
  }
}

void Shard::Install() {
  job_ = Job::kNone;
  Finished merged = *std::exchange(merged_, std::nullopt);
  ShardManifest manifest = manifest_;
  manifest.records = merged.records;
  manifest.first_sequence = suffixes_through_ + 1;
  Diagnostics why;
  if (WriteManifest(directory_, manifest, &why)) return Fail(why.message);

  const std::string old = std::exchange(manifest_, std::move(manifest)).records;
  Show(std::move(merged.succinct), std::move(merged_hidden_));
  suffixes_.clear();
  merge_now_ = false;
  unmerged_bytes_ = 0;
  // What is left of these after an error, the next start removes.
  (void)RemoveLogs(*log_directory_, suffixes_through_);
  std::error_code ignored;
  if (!old.empty()) std::filesystem::remove(directory_ + "/" + old, ignored);
  ++stats_.merges;
  stats_.last_merge = merged.report;
}

void Shard::Fail(std::string why) {
  retry_at_ms_ = options_.now_ms() + kRestMs;
  ++stats_.failed_compactions;
  stats_.last_failure = std::move(why);
}

}  // namespace stout::blowfish
