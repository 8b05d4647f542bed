// How a Shard compacts what it has.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "blowfish/store/first_to_merge.h"
#include "blowfish/store/shard.h"
#include "blowfish/store/shard_directory.h"

namespace stout::blowfish {
namespace {

/// How many keys of a merge that is taken over are hidden in one go: a millisecond or two.
constexpr std::size_t kHideAtOnce = 1000;

Finished Ended(ErrorCode failed, std::string why) {
  Finished finished;
  finished.failed = failed;
  finished.why = std::move(why);
  return finished;
}

}  // namespace

void Shard::Poll() {
  log_->Poll();
  NoteLogFailures();
  if (auto finished = background_.Take()) End(std::move(*finished));
  FillLayers();
  if (compaction_.working() == Compaction::Action::kTakeOver) HideSome();
  TellLog();
  AskToMerge();
  while (const auto action = compaction_.Next(options_.now())) {
    Begin(*action);
    AskToMerge();
  }
}

// The shard chooses the input of a merge when its turn has come. So the merge takes all that came
// while it waited. A shard that rests leaves the queue, because shards behind it get no slot before
// it has taken one.
void Shard::AskToMerge() {
  if (!options_.merge_slots) return;
  const TimePoint now = options_.now();
  if (compaction_.resting()) place_.reset();
  if (!place_ && compaction_.WantsMerge(now))
    place_.emplace(options_.merge_slots->Queue(options_.wake));
  compaction_.On(Compaction::MergeAllowed{place_ && place_->may_take()}, now);
}

void Shard::Compact() {
  pack_ = true;
  compaction_.On(Compaction::Asked{}, options_.now());
}

void Shard::TellLog() {
  compaction_.On(
      Compaction::LogGrew{log_->table().bytes(), log_->log_bytes(), UnmergedBytes(), files_.fill()},
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
    if (failed) return Fail(failed.message());
    ++stats_.freezes;
    const std::uint64_t bytes = frozen.bytes;
    frozen_ = std::move(frozen);
    frozen_keys_ = std::exchange(table_keys_, KeptKeys());
    compaction_.On(Compaction::Frozen{bytes}, options_.now());
  });
}

Background::Work Shard::Sort() const {
  return [table = frozen_->table](const std::stop_token& stop) {
    auto suffixes = std::make_shared<const SuffixStore>(*table, stop);
    if (stop.stop_requested()) return Ended(Errc::kTransient, "stopped");
    Finished finished;
    finished.suffixes = std::move(suffixes);
    return finished;
  };
}

Background::Work Shard::Merge() {
  const auto life = static_cast<std::uint64_t>(options_.tombstone_life.count());
  const std::uint64_t now = options_.now_ms();
  const FileRun all{0, files_.size()};
  const Encoding encoding = text_index() ? Encoding::kText : options_.encoding;
  const std::uint64_t max_file_bytes =
      std::min(options_.max_file_bytes,
               LargestFile(LoadOf({files_.ShareToMerge(all), suffixes_, {}}, encoding),
                           options_.merge_memory));
  std::uint64_t newer = 0;
  for (const auto& store : suffixes_)
    newer += store->text_bytes() + store->size() * schema().size();
  const std::vector<FileFill> fills = files_.fills();
  merge_packs_ = pack_;
  merging_ = {merge_packs_ ? FirstToPack(fills, max_file_bytes)
                           : FirstToMerge(fills, newer, max_file_bytes),
              files_.size()};
  sweeping_ = FilesToSweep(std::span(fills).first(merging_.first), max_file_bytes);
  MergeWork work{.directory = directory_,
                 .sequence = suffixes_through_ + 1,
                 .schema = manifest_.schema,
                 .input = {.files = files_.ShareToMerge(merging_),
                           .newer = suffixes_,
                           .older = files_.Share({0, merging_.first})},
                 .sweep = {.files = files_.ShareToMerge(sweeping_),
                           .newer = {},
                           .older = files_.Share({0, sweeping_.first})},
                 .layers = layer_numbers(),
                 .layer_memory = options_.merge_memory,
                 // Keys that were deleted since the freeze are not in there, so they cannot be
                 // forgotten.
                 .forget_before_ms = std::min(now - std::min(now, life), frozen_at_ms_),
                 .max_file_bytes = max_file_bytes,
                 .encoding = encoding};
  std::optional<MergeSlots::Slot> slot;
  if (place_) slot.emplace(std::move(*place_).Take(work.EstimateBytes()));
  place_.reset();
  return [work = std::move(work), slot = std::move(slot)](const std::stop_token& stop) {
    Finished finished;
    Diagnostics why;
    auto merged = work.Run(stop, &why);
    if (!merged) return Ended(merged.error(), std::move(why.message));
    finished.merged = std::move(*merged);
    return finished;
  };
}

ShardManifest Shard::MergedManifest() const {
  ShardManifest manifest = manifest_;
  const auto replace = [&](FileRun run, const std::vector<std::string>& names) {
    auto& files = manifest.files;
    const auto at = files.erase(files.begin() + static_cast<std::ptrdiff_t>(run.first),
                                files.begin() + static_cast<std::ptrdiff_t>(run.last));
    files.insert(at, names.begin(), names.end());
  };
  replace(merging_, merged_.names());
  replace(sweeping_, swept_.names());
  manifest.first_sequence = suffixes_through_ + 1;
  return manifest;
}

Background::Work Shard::Publish() const {
  return [directory = directory_, manifest = MergedManifest()](const std::stop_token&) {
    Diagnostics why;
    const ErrorCode failed = WriteManifest(directory, manifest, &why);
    return Ended(failed, std::move(why.message));
  };
}

// Also what earlier ones have left.
Background::Work Shard::Remove() {
  return [this, manifest = manifest_, files = std::exchange(old_files_, {}),
          suffixes = std::exchange(old_suffixes_, {})](const std::stop_token&) {
    const ErrorCode logs = RemoveLogs(*log_directory_, manifest.first_sequence - 1);
    const ErrorCode strays = RemoveStrays(directory_, manifest);
    const ErrorCode failed = logs ? logs : strays;
    return Ended(failed, failed ? failed.message() : "");
  };
}

void Shard::Run(Background::Work work) {
  if (const auto failed = background_.Run(std::move(work))) Fail("there are no more threads");
}

void Shard::End(Finished finished) {
  if (finished.failed) return Fail(finished.why);
  switch (*compaction_.working()) {
    case Compaction::Action::kSort:
      suffix_bytes_ += finished.suffixes->bytes();
      suffixes_.push_back(std::move(finished.suffixes));
      suffixes_through_ = frozen_->through;
      frozen_.reset();
      frozen_keys_ = KeptKeys();
      break;
    case Compaction::Action::kMerge:
      merged_ = SuccinctStores();
      swept_ = SuccinctStores();
      for (MergedFile& file : finished.merged.files) merged_.Add(std::move(file));
      for (MergedFile& file : finished.merged.swept) swept_.Add(std::move(file));
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
  for (; merged_seen_ < last; ++merged_seen_) HideInNew(table.At(merged_seen_).record.key);
  if (merged_seen_ == merged_after_) {
    GoOver();
  } else {
    options_.wake();
  }
}

// Records that were hidden when the merge began are in none of its files.
void Shard::HideInNew(KeyView key) {
  merged_.Hide(key);
  swept_.Hide(key);
}

void Shard::GoOver() {
  const LayerNumbers layers = layer_numbers();
  StopFilling();  // It may fill for the old files.
  manifest_ = MergedManifest();
  ++stats_.merges;
  old_files_ = files_.Replace(merging_, std::exchange(merged_, {}));
  // Second, so that the numbers of both runs are right: swept files come before merged ones.
  std::ranges::move(files_.Replace(sweeping_, std::exchange(swept_, {})),
                    std::back_inserter(old_files_));
  // The numbers may have changed since the merge began, or it had no memory for some layers.
  files_.RemoveLayersAbove(layers);
  OrderLayers(layers);
  old_suffixes_ = std::exchange(suffixes_, {});
  suffix_bytes_ = 0;
  if (merge_packs_) pack_ = false;
  Done();
}

void Shard::Fail(std::string_view why) {
  ++stats_.failed_compactions;
  stats_.last_failure = fmt::format("{}: {}", Describe(*compaction_.working()), why);
  compaction_.On(Compaction::Failed{}, options_.now());
}

}  // namespace stout::blowfish
