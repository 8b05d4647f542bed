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
#include "stout/clock.h"

namespace stout::blowfish {
namespace {

std::uint64_t SystemNowMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

ErrorCode Check(const ShardOptions& options, Diagnostics* diagnostics) {
  if (options.max_file_bytes == 0 || options.max_file_bytes > kMaxValueBytes) {
    return stout::Fail(Errc::kBadOptions,
                       fmt::format("max_file_bytes must be in 1..{}", kMaxValueBytes), diagnostics);
  }
  const CompactionOptions& compaction = options.compaction;
  if (compaction.max_unmerged_bytes <= compaction.freeze_bytes) {
    return stout::Fail(Errc::kBadOptions, "max_unmerged_bytes must be more than freeze_bytes",
                       diagnostics);
  }
  // Otherwise the table may be full before a freeze or a merge is due, and stay so.
  if (compaction.max_unmerged_bytes > LogTable::kMaxBytes) {
    return stout::Fail(Errc::kBadOptions,
                       fmt::format("max_unmerged_bytes must be at most {}", LogTable::kMaxBytes),
                       diagnostics);
  }
  return {};
}

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
      compaction_(options_.compaction),
      filler_(options_.wake, options_.fill_slots),
      background_(options_.wake) {}

Shard::~Shard() {
  filler_.Stop();
  background_.RequestStop();
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

  const ShardManifest if_new{
      .schema = options_.schema, .text_index = options_.text_index, .shard = options_.shard};
  auto manifest = OpenManifest(directory_, if_new, diagnostics);
  if (!manifest) return manifest.error();
  manifest_ = std::move(*manifest);
  found.other_schema = manifest_.schema != options_.schema;
  if (const ErrorCode failed = OpenFiles(diagnostics)) return failed;
  size_ = found.records = files_.records() - files_.hidden();

  LogStoreOptions log{.shard = manifest_.shard,
                      .schema = manifest_.schema,
                      .first_sequence = manifest_.first_sequence,
                      .wake = options_.wake,
                      .max_waiting_bytes = options_.max_waiting_bytes,
                      // IsTaken() is as strict for puts: see Check().
                      .max_table_bytes = LogTable::kMaxBytes};
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

ErrorCode Shard::OpenFiles(Diagnostics* diagnostics) {
  for (const std::string& name : manifest_.files) {
    const std::string path = directory_ + "/" + name;
    std::error_code unreadable;
    if (!std::filesystem::exists(path, unreadable) && !unreadable) {
      return stout::Fail(
          Errc::kCorrupt,
          fmt::format("{}: missing, with many records; restore it from a copy", path), diagnostics);
    }
    auto opened = SuccinctStore::Open(path, Verify::kEverything, diagnostics);
    if (!opened) return opened.error();
    files_.Add({name, std::move(*opened)});
  }
  files_.HideReplaced();
  return {};
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
  const auto found = files_.Find(key);
  if (!found) return std::nullopt;
  return Newest{found->stamp, !found->place, {}, found->place};
}

bool Shard::IsInNewer(KeyView key, std::size_t first) const {
  if (IsInNewer(key) || (frozen_ && frozen_->table->Find(key) != nullptr)) return true;
  for (; first < suffixes_.size(); ++first) {
    if (suffixes_[first]->Find(key)) return true;
  }
  return false;
}

void Shard::Read(std::span<const std::string_view> keys, const ReadVisitor& visit) {
  std::vector<SuccinctStores::Place> places;
  std::vector<std::size_t> numbers;  // Of their keys.
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto newest = Find(keys[i]);
    if (!newest) continue;
    if (newest->place) {
      places.push_back(*newest->place);
      numbers.push_back(i);
    } else if (newest->deleted) {
      visit(i, newest->stamp, std::nullopt);
    } else {
      visit(i, newest->stamp, newest->value);
    }
  }
  files_.Read(places, [&](std::size_t i, Stamp stamp, std::string_view value) {
    visit(numbers[i], stamp, value);
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
  if (!newest->place) return schema().Attribute(newest->value, attribute);
  return files_.ReadAttribute(*newest->place, attribute);
}

std::optional<std::string_view> Shard::ReadRange(KeyView key, const ByteRange& range) {
  const auto newest = Find(key);
  if (!newest || newest->deleted) return std::nullopt;
  if (newest->place) return files_.ReadRange(*newest->place, range);
  const auto [offset, size] = range.In(newest->value.size());
  return newest->value.substr(offset, size);
}

std::vector<std::string> Shard::KeysAfter(std::optional<std::string_view> after, std::size_t count,
                                          Keys which, std::optional<std::string>* end,
                                          std::size_t max_bytes) {
  FirstKeys first(count, max_bytes);
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
  files_.Offer(
      after, which == Keys::kAll, [this](KeyView key) { return IsInNewer(key, 0); }, first);
  if (end != nullptr) *end = first.end();
  return first.Take();
}

void Shard::OfferSuffixes(std::size_t i, std::optional<std::string_view> after, Keys which,
                          FirstKeys& first) const {
  const SuffixStore& store = *suffixes_[i];
  const bool all = which == Keys::kAll;
  std::size_t passed = 0;
  for (std::uint32_t entry = after ? store.LowerBound(*after) : 0; entry < store.size(); ++entry) {
    const LogEntry& at = store.At(entry);
    const KeyView key = at.record.key;
    if (first.IsBeyond(key)) return;
    if (key == after) continue;
    if ((all || !at.deleted) && !IsInNewer(key, i + 1)) {
      (void)first.Offer(key);
    } else if (!all && ++passed == FirstKeys::kMaxPassed) {
      return first.EndAt(key);
    }
  }
}

ShardSearch Shard::BeginSearch(const LogQuery& query) const {
  return {query,
          {.table = log_->shared_table(),
           .frozen = frozen_ ? frozen_->table : nullptr,
           .suffixes = suffixes_,
           .files = files_.ShareToSearch()}};
}

// --- Writes --------------------------------------------------------------------------------------

void Shard::Write(const WriteBatch& batch, Store::WriteHandler handler) {
  const bool deletes_only = std::ranges::all_of(
      batch.items, [](const WriteItem& item) { return item.kind == WriteKind::kDelete; });
  if (!IsTaken(UnmergedBytes() + log_->waiting_bytes(), deletes_only)) {
    // A writer that has lost the keys must not wait for room.
    const bool fenced = log_->IsFenced(batch.scope, batch.epoch);
    return handler({fenced ? Errc::kFenced : Errc::kTransient, {}});
  }
  log_->Write(batch, options_.now_ms(), std::move(handler));
}

bool Shard::IsTaken(std::uint64_t changes, bool deletes_only) const {
  // A tombstone takes less memory than the record that it deletes. Deletes get the same limit once
  // more. Therefore all unmerged records can be deleted, and then the rest can be merged as before.
  const std::uint64_t part = deletes_only ? 2 : 1;
  return changes / part <= options_.compaction.max_unmerged_bytes;
}

bool Shard::WillHaveRoom(std::size_t bytes, bool deletes_only) const {
  const std::uint64_t unmerged = UnmergedBytes();
  if (!IsTaken(unmerged, deletes_only)) return !compaction_.idle() && !compaction_.resting();
  // Waiting bytes reach the disk soon. Then there is room, or a compaction is due.
  if (!IsTaken(unmerged + log_->waiting_bytes(), deletes_only)) return true;
  return log_->WillHaveRoom(bytes);
}

std::uint64_t Shard::UnmergedBytes() const {
  // A sort makes a copy of it.
  const std::uint64_t frozen = frozen_ ? 2 * frozen_->table->bytes() : 0;
  return log_->table().bytes() + frozen + suffix_bytes_;
}

void Shard::NoteLogFailures() {
  const LogWriter::Failures& failures = log_->failures();
  if (stats_.failed_log_writes == failures.count) return;
  stats_.failed_log_writes = failures.count;
  stats_.last_failure = "log: " + failures.last;
}

// The log's table is about to take an operation, and has `before` of the key.
void Shard::OnApply(const Operation& operation, const LogEntry* before) {
  const auto newest = before ? Of(*before) : FindOlder(operation.key);
  size_ += operation.kind == Operation::Kind::kPut;
  size_ -= newest && !newest->deleted;
  if (newest && newest->place) files_.Hide(*newest->place);
  table_keys_.with_value.OnApply(operation, before);
  if (compaction_.working() == Compaction::Action::kTakeOver) HideInNew(operation.key);
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

}  // namespace stout::blowfish
