#include "blowfish/store/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "blowfish/log/log_recovery.h"
#include "blowfish/store/backup.h"
#include "blowfish/store/shard_directory.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

/// How many keys of a merge that is taken over are hidden in one go: a millisecond or two.
constexpr std::size_t kHideAtOnce = 1000;

std::uint64_t SystemNowMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

ErrorCode Check(const ShardOptions& options, Diagnostics* diagnostics) {
  if (options.max_value_bytes == 0 || options.max_value_bytes > kMaxValueBytes) {
    return stout::Fail(Errc::kBadOptions,
                       fmt::format("max_value_bytes must be in 1..{}", kMaxValueBytes),
                       diagnostics);
  }
  const CompactionOptions& compaction = options.compaction;
  if (compaction.max_unmerged_bytes <= compaction.freeze_bytes) {
    return stout::Fail(Errc::kBadOptions, "max_unmerged_bytes must be more than freeze_bytes",
                       diagnostics);
  }
  return {};
}

TimePoint SteadyNow() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }

ShardOptions WithDefaults(ShardOptions options) {
  if (!options.now_ms) options.now_ms = SystemNowMs;
  if (!options.now) options.now = SteadyNow;
  if (!options.wake) options.wake = [] {};
  return options;
}

}  // namespace

Shard::Shard(std::string directory, ShardOptions options)
    : directory_(std::move(directory)),
      options_(WithDefaults(std::move(options))),
      compaction_(options_.compaction) {}

Shard::~Shard() {
  background_.request_stop();
  log_.reset();  // It answers what is open, and handlers use the rest.
}

Result<std::unique_ptr<Shard>> Shard::Open(const std::string& directory, ShardOptions options,
                                           ShardReport* report, Diagnostics* diagnostics) {
  if (const ErrorCode failed = Check(options, diagnostics)) return failed;
  std::unique_ptr<Shard> shard(new Shard(directory, std::move(options)));
  if (const ErrorCode failed = shard->Recover(report, diagnostics)) return failed;
  return shard;
}

ErrorCode Shard::Recover(ShardReport* report, Diagnostics* diagnostics) {
  const auto start = std::chrono::steady_clock::now();
  ShardReport found;
  if (const auto failed = CheckLogThere(directory_, diagnostics)) return failed;
  // It makes the directory, and keeps others out of it.
  auto log_directory = OpenLogDirectory(directory_ + "/" + kLogName, diagnostics);
  if (!log_directory) return log_directory.error();
  log_directory_ = std::move(*log_directory);

  auto manifest =
      OpenManifest(directory_, {.schema = options_.schema, .shard = options_.shard}, diagnostics);
  if (!manifest) return manifest.error();
  manifest_ = std::move(*manifest);
  found.other_schema = manifest_.schema != options_.schema;
  if (!manifest_.records.empty()) {
    const std::string path = directory_ + "/" + manifest_.records;
    std::error_code unreadable;
    if (!std::filesystem::exists(path, unreadable) && !unreadable) {
      return stout::Fail(Errc::kCorrupt,
                         fmt::format("{}: missing, with most records; restore it from a "
                                     "copy",
                                     path),
                         diagnostics);
    }
    auto opened = SuccinctStore::Open(path, Verify::kEverything, diagnostics);
    if (!opened) return opened.error();
    const std::uint32_t records = (*opened)->records();
    Show(std::move(*opened), HiddenRecords(records));
    size_ = found.records = succinct_->records();
  }

  LogStoreOptions log{.shard = manifest_.shard,
                      .schema = manifest_.schema,
                      .first_sequence = manifest_.first_sequence,
                      .wake = options_.wake,
                      .max_waiting_bytes = options_.max_waiting_bytes,
                      .max_table_bytes = LogTable::kMaxBytes};  // Takes() is stricter.
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
  // Only now, because all files that the manifest names exist. The next merge finds those that
  // stay.
  (void)RemoveStrays(directory_, manifest_);
  TellLog();
  found.took = std::chrono::steady_clock::now() - start;
  if (report) *report = found;
  return {};
}

void Shard::Show(std::shared_ptr<SuccinctStore> store, HiddenRecords hidden) {
  reader_.reset();
  succinct_ = std::move(store);
  reader_.emplace(succinct_->index());
  attribute_ = TextBuffer(succinct_->index().value_bytes());
  hidden_ = std::move(hidden);
}

bool Shard::AddLayer() {
  const bool added = succinct_ && LayerLadder(succinct_->index()).Add();
  added_layers_ += added;
  wanted_layers_ = layers();
  return added;
}

bool Shard::RemoveLayer() {
  const bool removed = succinct_ && LayerLadder(succinct_->index()).Remove();
  wanted_layers_ = layers();
  return removed;
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

bool Shard::IsInNewer(KeyView key, std::size_t first) const {
  if (IsInNewer(key) || (frozen_ && frozen_->table->Find(key) != nullptr)) return true;
  for (; first < suffixes_.size(); ++first) {
    if (suffixes_[first]->Find(key)) return true;
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
  if (records.size() == 1) {  // Its parts side by side: with layers, in half the time and less.
    return visit(places[0], succinct_->StampOf(records[0]), reader_->Get(records[0]));
  }
  reader_->GetAll(records, [&](std::size_t i, std::string_view value) {
    visit(places[i], succinct_->StampOf(records[i]), value);
  });
}

void Shard::ReadStamps(std::span<const std::string_view> keys, const ReadVisitor& visit) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto newest = Find(keys[i]);
    if (newest) visit(i, newest->stamp, newest->deleted ? std::nullopt : std::optional(""));
  }
}

std::optional<std::string_view> Shard::ReadAttribute(KeyView key, std::size_t attribute) {
  const auto newest = Find(key);
  if (!newest || newest->deleted) return std::nullopt;
  if (!newest->record) return schema().Attribute(newest->value, attribute);
  attribute_.Clear();
  if (!succinct_->index().GetAttribute(*newest->record, attribute, attribute_)) return std::nullopt;
  return attribute_.view();
}

std::vector<std::string> Shard::KeysAfter(std::optional<std::string_view> after, std::size_t count,
                                          Keys which) {
  FirstKeys first(count);
  const auto is_wanted = [which](const LogEntry& entry) {
    return which == Keys::kAll || !entry.deleted;
  };
  table_keys_.Of(which).Offer(log_->table(), after, count, is_wanted, first);
  if (frozen_) {
    const auto is_newest = [&](const LogEntry& entry) {
      return is_wanted(entry) && !IsInNewer(entry.record.key);
    };
    frozen_keys_.Of(which).Offer(*frozen_->table, after, count, is_newest, first);
  }
  for (std::size_t i = 0; i < suffixes_.size(); ++i) OfferSuffixes(i, after, which, first);
  if (succinct_) OfferSuccinct(after, which, first);
  return first.Take();
}

void Shard::OfferSuffixes(std::size_t i, std::optional<std::string_view> after, Keys which,
                          FirstKeys& first) const {
  const SuffixStore& store = *suffixes_[i];
  for (std::uint32_t entry = after ? store.LowerBound(*after) : 0; entry < store.size(); ++entry) {
    const LogEntry& at = store.At(entry);
    const KeyView key = at.record.key;
    if ((at.deleted && which != Keys::kAll) || key == after || IsInNewer(key, i + 1)) continue;
    if (!first.Offer(key)) return;
  }
}

void Shard::OfferSuccinct(std::optional<std::string_view> after, Keys which,
                          FirstKeys& first) const {
  const KeyDirectory& keys = succinct_->keys();
  keys.Scan(after ? keys.LowerBound(*after) : 0, [&](std::uint64_t record, KeyView key) {
    return key == after || hidden_.Has(static_cast<std::uint32_t>(record)) || first.Offer(key);
  });
  if (which != Keys::kAll) return;
  const KeyDirectory& deleted = succinct_->deleted_keys();
  deleted.Scan(after ? deleted.LowerBound(*after) : 0, [&](std::uint64_t, KeyView key) {
    return key == after || IsInNewer(key, 0) || first.Offer(key);
  });
}

ShardSearch Shard::BeginSearch(const LogQuery& query) const {
  return {query,
          {.table = log_->shared_table(),
           .frozen = frozen_ ? frozen_->table : nullptr,
           .suffixes = suffixes_,
           .succinct = succinct_,
           .hidden = &hidden_}};
}

// --- Writes --------------------------------------------------------------------------------------

void Shard::Write(const WriteBatch& batch, Store::WriteHandler handler) {
  const bool deletes_only = std::ranges::all_of(
      batch.items, [](const WriteItem& item) { return item.kind == WriteKind::kDelete; });
  if (!Takes(deletes_only)) {
    // A writer that has lost the keys must not wait for room.
    const bool fenced = log_->IsFenced(batch.scope, batch.epoch);
    return handler({fenced ? Errc::kFenced : Errc::kTransient, {}});
  }
  log_->Write(batch, options_.now_ms(), std::move(handler));
}

bool Shard::Takes(bool deletes_only) const {
  if (full() && !deletes_only) return false;
  // A tombstone takes less memory than the record that it deletes. Deletes get the same limit once
  // more. Therefore all unmerged records can be deleted, and then the rest can be merged as before.
  const std::uint64_t part = deletes_only ? 2 : 1;
  return UnmergedBytes() / part <= options_.compaction.max_unmerged_bytes;
}

bool Shard::WillHaveRoom(std::size_t bytes, bool deletes_only) const {
  if (Takes(deletes_only)) return log_->WillHaveRoom(bytes);
  const bool full_for_it = full() && !deletes_only;
  return !full_for_it && !compaction_.idle() && !compaction_.resting();
}

std::uint64_t Shard::UnmergedBytes() const {
  const std::uint64_t frozen = frozen_ ? frozen_->table->bytes() : 0;
  return log_->table().bytes() + frozen + suffix_bytes_;
}

// The log's table is about to take an operation, and has `before` of the key.
void Shard::OnApply(const Operation& operation, const LogEntry* before) {
  const auto newest = before ? Of(*before) : FindOlder(operation.key);
  size_ += operation.kind == Operation::Kind::kPut;
  size_ -= newest && !newest->deleted;
  if (newest && newest->record) hidden_.Hide(*newest->record);
  table_keys_.with_value.OnApply(operation, before);
  if (compaction_.working() == Compaction::Action::kTakeOver) HideMerged(operation.key);
}

// Compactions may go on meanwhile. The manifest in memory names files that exist until a later one
// is in memory, so the backup gets this one and not that on the disk.
void Shard::BackUp(const std::string& directory, BackupHandler handler) {
  log_->Rotate([this, directory, handler = std::move(handler)](ErrorCode failed,
                                                               std::uint64_t through) mutable {
    Diagnostics why;
    if (failed) {
      why.message = "the log cannot be written at present; see INFO persistence";
    } else {
      try {
        failed = LinkShard({directory_, manifest_, *log_directory_, through}, directory, &why);
      } catch (const std::exception&) {  // mostly bad_alloc
        failed = Errc::kTransient;
      }
    }
    handler(failed, why.message);
  });
}

// --- Compactions ---------------------------------------------------------------------------------

void Shard::Poll() {
  log_->Poll();
  if (auto finished = TakeFinished()) End(std::move(*finished));
  if (compaction_.working() == Compaction::Action::kTakeOver) HideSome();
  TellLog();
  while (const auto action = compaction_.Next(options_.now())) Begin(*action);
}

void Shard::TellLog() {
  compaction_.On(Compaction::LogGrew{log_->table().bytes(), log_->log_bytes(), UnmergedBytes()},
                 options_.now());
}

void Shard::Begin(Compaction::Action action) {
  switch (action) {
    case Compaction::Action::kFreeze:
      return BeginFreeze();
    case Compaction::Action::kSort:
      return Run(Sort());
    case Compaction::Action::kMerge:
      return Run(Merge());
    case Compaction::Action::kPublish:
      return Run(Publish());
    case Compaction::Action::kTakeOver:
      merged_hidden_ = HiddenRecords(merged_.store->records());
      merged_seen_ = 0;
      merged_after_ = log_->table().size();
      return HideSome();
    case Compaction::Action::kRemove:
      return Run(Remove());
  }
}

void Shard::BeginFreeze() {
  frozen_at_ms_ = options_.now_ms();
  log_->Freeze([this](ErrorCode failed, FrozenLog frozen) {
    if (failed) return Fail(failed, failed.message());
    ++stats_.freezes;
    const std::uint64_t bytes = frozen.bytes;
    frozen_ = std::move(frozen);
    frozen_keys_ = std::exchange(table_keys_, KeptKeys());
    compaction_.On(Compaction::Frozen{bytes}, options_.now());
  });
}

Shard::Work Shard::Sort() const {
  return [table = frozen_->table](const std::stop_token& stop) {
    auto suffixes = std::make_shared<const SuffixStore>(*table, stop);
    if (stop.stop_requested()) return Finished{.failed = Errc::kTransient, .why = "stopped"};
    return Finished{.suffixes = std::move(suffixes)};
  };
}

Shard::Work Shard::Merge() const {
  const auto life = static_cast<std::uint64_t>(options_.tombstone_life.count());
  const std::uint64_t now = options_.now_ms();
  MergeWork work{.directory = directory_,
                 .name = fmt::format("{:020}{}", suffixes_through_ + 1, kRecordsSuffix),
                 .schema = manifest_.schema,
                 .oldest = succinct_,
                 .newer = suffixes_,
                 // Keys that were deleted since the freeze are not in there, so they cannot be
                 // forgotten.
                 .forget_before_ms = std::min(now - std::min(now, life), frozen_at_ms_),
                 .max_value_bytes = options_.max_value_bytes};
  return [work = std::move(work), slots = options_.merge_slots,
          &layers = wanted_layers_](const std::stop_token& stop) mutable {
    Finished finished;
    Diagnostics why;
    // One that is asked to stop goes on without: it ends at once.
    const std::optional<MergeSlots::Slot> slot =
        slots ? slots->Take(work.EstimateBytes(), stop) : std::nullopt;
    work.layers = layers;  // as of now: it may have waited for long
    auto merged = work.Run(stop, &why);
    finished.failed = merged ? ErrorCode() : merged.error();
    finished.why = std::move(why.message);
    if (merged) finished.merged = std::move(*merged);
    return finished;
  };
}

ShardManifest Shard::MergedManifest() const {
  ShardManifest manifest = manifest_;
  manifest.records = merged_.name;
  manifest.first_sequence = suffixes_through_ + 1;
  return manifest;
}

Shard::Work Shard::Publish() const {
  return [directory = directory_, manifest = MergedManifest()](const std::stop_token&) {
    Diagnostics why;
    const ErrorCode failed = WriteManifest(directory, manifest, &why);
    return Finished{.failed = failed, .why = std::move(why.message)};
  };
}

// Also what earlier ones have left.
Shard::Work Shard::Remove() {
  return [this, manifest = manifest_, succinct = std::exchange(old_succinct_, nullptr),
          suffixes = std::exchange(old_suffixes_, {})](const std::stop_token&) {
    const ErrorCode logs = RemoveLogs(*log_directory_, manifest.first_sequence - 1);
    const ErrorCode strays = RemoveStrays(directory_, manifest);
    const ErrorCode failed = logs ? logs : strays;
    return Finished{.failed = failed, .why = failed ? failed.message() : ""};
  };
}

void Shard::Run(Work work) {
  auto run = [this, work = std::move(work)](const std::stop_token& stop) mutable {
    Finished finished;
    try {
      finished = work(stop);
    } catch (const std::exception& error) {  // mostly bad_alloc
      finished = {.failed = Errc::kTransient, .why = error.what()};
    }
    work = {};  // frees its captures here, not on the worker, unless searches share them
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.finished = std::move(finished);
    }
    options_.wake();
  };
  try {
    background_ = std::jthread(std::move(run));
  } catch (const std::exception& error) {  // No more threads.
    Fail(Errc::kTransient, error.what());
  }
}

std::optional<Shard::Finished> Shard::TakeFinished() {
  const std::lock_guard lock(inbox_.mutex);
  return std::exchange(inbox_.finished, std::nullopt);
}

void Shard::End(Finished finished) {
  if (finished.failed) return Fail(finished.failed, finished.why);
  switch (*compaction_.working()) {
    case Compaction::Action::kSort:
      suffix_bytes_ += finished.suffixes->bytes();
      suffixes_.push_back(std::move(finished.suffixes));
      suffixes_through_ = frozen_->through;
      frozen_.reset();
      frozen_keys_ = KeptKeys();
      break;
    case Compaction::Action::kMerge:
      merged_ = std::move(finished.merged);
      break;
    default:
      break;
  }
  Done();
}

// The only store newer than what was merged is the log's table: nothing is frozen meanwhile. Its
// entries stay where they are; those that come from now on are hidden as they come, so that this
// ends whatever is written.
void Shard::HideSome() {
  const LogTable& table = log_->table();
  const std::size_t last = std::min(merged_seen_ + kHideAtOnce, merged_after_);
  for (; merged_seen_ < last; ++merged_seen_) HideMerged(table.At(merged_seen_).record.key);
  if (merged_seen_ == merged_after_) {
    GoOver();
  } else {
    options_.wake();
  }
}

void Shard::HideMerged(KeyView key) {
  if (const auto record = merged_.store->keys().Find(key)) {
    merged_hidden_.Hide(static_cast<std::uint32_t>(*record));
  }
}

void Shard::GoOver() {
  // The old one's layers may have changed meanwhile; those that come now are filled by queries.
  if (succinct_) {
    LayerLadder ladder(merged_.store->index());
    while (ladder.layers() > layers() && ladder.Remove()) {
    }
    while (ladder.layers() < layers() && ladder.Add()) {
    }
  }
  manifest_ = MergedManifest();
  stats_.last_merge = merged_.report;
  ++stats_.merges;
  old_succinct_ = succinct_;
  Show(std::exchange(merged_, {}).store, std::move(merged_hidden_));
  old_suffixes_ = std::exchange(suffixes_, {});
  suffix_bytes_ = 0;
  Done();
}

void Shard::Fail(ErrorCode failed, std::string_view why) {
  ++stats_.failed_compactions;
  stats_.last_failure = fmt::format("{}: {}", Describe(*compaction_.working()), why);
  compaction_.On(Compaction::Failed{failed == Errc::kTooLarge}, options_.now());
}

}  // namespace stout::blowfish
