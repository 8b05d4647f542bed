#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_store.h"
#include "blowfish/store/background.h"
#include "blowfish/store/compaction.h"
#include "blowfish/store/first_keys.h"
#include "blowfish/store/layer_filler.h"
#include "blowfish/store/merge_slots.h"
#include "blowfish/store/shard_manifest.h"
#include "blowfish/store/shard_search.h"
#include "blowfish/store/succinct_stores.h"
#include "blowfish/store/suffix_store.h"
#include "blowfish/store/table_keys.h"
#include "stout/error.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

struct ShardOptions {
  /// The number of the shard. Another one's directory is refused.
  std::uint64_t shard = 0;
  /// Schema of a new shard. An existing shard keeps the schema that it was created with; see
  /// ShardReport.
  Schema schema;
  /// Merges of a new shard keep values in text indexes (Encoding::kText), whatever `encoding` is.
  /// An existing shard keeps its setting.
  bool text_index = false;

  /// When the log is compacted. Its bytes since the last merge are what a start has to read.
  CompactionOptions compaction;
  /// Log bytes that may wait for the disk: see LogStoreOptions.
  std::size_t max_waiting_bytes = LogStoreOptions().max_waiting_bytes;
  /// How long the stamp of a deleted key is kept, for late writes to be compared with.
  std::chrono::milliseconds tombstone_life = std::chrono::hours(1);

  /// Maximum bytes of keys and values in a compressed file, at most kMaxValueBytes.
  std::uint64_t max_file_bytes = kMaxValueBytes;
  /// Memory of a merge, about: files are no larger than can be built in it. But a file with a few
  /// megabytes of them may always be built. See LargestFile(). When the files are built, their
  /// layers take this memory. Layers without room are ordered once the merge is taken over.
  std::uint64_t merge_memory = std::numeric_limits<std::uint64_t>::max();
  /// How merges keep values; for tests.
  Encoding encoding = Encoding::kMeasured;

  /// Bounds the merges at a time of all shards together. Null: no bound.
  std::shared_ptr<MergeSlots> merge_slots;

  /// Bounds the files at a time that new layers of all shards together are filled for. Null: no
  /// bound.
  std::shared_ptr<MergeSlots> fill_slots;
  LayerFilling layer_filling = LayerFilling::kDedicated;

  /// Unix time in milliseconds, which tombstones carry; for tests. Empty: the system's.
  std::function<std::uint64_t()> now_ms;
  /// Never steps back; for tests. Empty: the steady clock.
  std::function<TimePoint()> now;
  /// Says that Poll() has something to do. It is called on other threads and must not block.
  std::function<void()> wake;
};

/// The findings of a start, and its cost.
struct ShardReport {
  RecoveryReport log;
  std::uint64_t records = 0;  ///< that count in the compressed files
  bool other_schema = false;  ///< The shard has another one than the options: Shard::schema().
  std::chrono::nanoseconds took{};
};

struct ShardStats {
  std::uint64_t freezes = 0;
  std::uint64_t merges = 0;
  std::uint64_t failed_compactions = 0;  ///< They are tried again.
  std::uint64_t failed_log_writes = 0;   ///< See LogWriter::Failures.
  std::string last_failure;              ///< the newest of both
};

/// The keys that a shard has, in three kinds of stores:
///
///     writes -> LogStore -> SuffixStore ... SuffixStore -> SuccinctStore ... SuccinctStore
///               log, hash    in memory, sorted              a file each, compressed
///
/// The log's table is frozen when it is large, and becomes a SuffixStore. When the log is long, all
/// SuffixStores and the newest files, as FirstToMerge() says, are merged into new files, and the
/// log is cut. Both happen in the background. Queries go on and see the old stores until they see
/// the new ones. Compaction decides the actions, their times, and retries.
///
/// Invariants:
/// 1. The newest of the stores that have a key counts; each store is older than those left of it.
/// 2. On disk, the manifest names the files and the first log file that is in none of them. All
///    other stores are made of these. A SuffixStore is in memory alone, because the log has its
///    records.
/// 3. No file is removed before a manifest that does not name it is durable, and no query goes over
///    to a store before. The log is written to meanwhile, in files that both manifests name.
/// 4. A record in a file is hidden from the moment that a newer store has its key.
///
/// Threads: all members on one, the shard's worker; handlers run there. The log has a thread of its
///   own. A compaction has one while it runs, and so have new layers while they are filled. Both
///   read the stores as const values, so the layers of the files belong to the worker alone.
/// Errors: as stout::Store's; reads do not fail.
/// Paper: BlowFish (NSDI'16) Section 2; Succinct (NSDI'15) Section 4.
class Shard {
 public:
  /// Opens what is in the directory, or makes a new shard there. Blocks.
  [[nodiscard]] static Result<std::unique_ptr<Shard>> Open(const std::string& directory,
                                                           ShardOptions options,
                                                           ShardReport* report = nullptr,
                                                           Diagnostics* diagnostics = nullptr);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  /// Waits for the disk; a compaction that is under way is given up.
  ~Shard();

  [[nodiscard]] const Schema& schema() const { return manifest_.schema; }
  [[nodiscard]] bool text_index() const { return manifest_.text_index; }

  /// See LogStore. Also kTransient: above max_unmerged_bytes, a batch that puts anything; above
  /// twice that, all. So there is room for deletes, which make room.
  void Write(const WriteBatch& batch, Store::WriteHandler handler);

  /// Write() would answer kTransient, and need not after a Poll() to come: the disk is busy with
  /// what waits, or a compaction that makes room goes on. False if there is room, or nothing that
  /// is under way makes any, because a compaction has failed and rests.
  /// `bytes`: as LogStore::WillHaveRoom().
  [[nodiscard]] bool WillHaveRoom(std::size_t bytes, bool deletes_only) const;

  /// See LogStore.
  /// @{
  void NewEpoch(Store::EpochHandler handler) { log_->NewEpoch(std::move(handler)); }
  void Fence(const Scope& scope, Epoch epoch, Store::FenceHandler handler) {
    log_->Fence(scope, epoch, std::move(handler));
  }
  /// @}

  /// Calls visit(i, stamp, value) for each of the keys that is there, in any order. A key that was
  /// deleted has a stamp and no value, as long as its tombstone is kept.
  using ReadVisitor =
      std::function<void(std::size_t i, Stamp stamp, std::optional<std::string_view> value)>;
  void Read(std::span<const std::string_view> keys, const ReadVisitor& visit);
  /// As Read(), with empty values in place of those that are there.   Cost: less, because no record
  /// is read.
  void ReadStamps(std::span<const std::string_view> keys, const ReadVisitor& visit) const;

  /// Reads an attribute of the value of a key. Returns nullopt if the key does not exist, or its
  /// value lacks the attribute. The view lasts until the next call of any member.   Cost: less than
  /// Read(). The gain depends on the layers, which locate the attribute, and on the bytes behind
  /// it. Read() does several keys in lock step.
  [[nodiscard]] std::optional<std::string_view> ReadAttribute(KeyView key, std::size_t attribute);

  /// Reads a part of the value of a key. Returns nullopt if the key does not exist. The view lasts
  /// until the next call of any member.
  [[nodiscard]] std::optional<std::string_view> ReadRange(KeyView key, const ByteRange& range);

  /// Frees the memory of large values that were read. Call it when views of them are not needed.
  void EndReads() { files_.EndReads(); }

  /// The durable fences, and the largest epoch that was given out or seen.
  /// @{
  [[nodiscard]] const std::unordered_map<Scope, Epoch>& fences() const { return log_->fences(); }
  [[nodiscard]] Epoch max_epoch() const { return log_->max_epoch(); }
  /// @}

  /// See LogStore: a tombstone's stamp counts as a record's.
  /// @{
  [[nodiscard]] std::optional<Stamp> NewestStamp(KeyView key) const {
    return log_->NewestStamp(key);
  }
  [[nodiscard]] bool IsPending(KeyView key) const { return log_->IsPending(key); }
  [[nodiscard]] bool IsFencePending(const Scope& scope) const {
    return log_->IsFencePending(scope);
  }
  /// @}

  /// Which keys there are: those that have a value, or all, tombstones included.
  enum class Keys : std::uint8_t { kWithValue, kAll };

  /// Returns the first `count` existing keys behind `after`, in byte order; nullopt: from the first
  /// key on. Returns fewer if there are no more, if more are larger than `max_bytes`, as FirstKeys,
  /// or with kWithValue, if many deleted keys of a store are in between. `end` gets the key behind
  /// which there may be more, or nullopt if there are none.
  ///
  /// Cost: a search in each store. From time to time, see TableKeys, also a look at each key of the
  /// log's table, which takes about a millisecond for 30,000 keys.
  [[nodiscard]] std::vector<std::string> KeysAfter(std::optional<std::string_view> after,
                                                   std::size_t count, Keys which = Keys::kWithValue,
                                                   std::optional<std::string>* end = nullptr,
                                                   std::size_t max_bytes = SIZE_MAX);

  /// Begins a search of the records that match, in no order.
  [[nodiscard]] ShardSearch BeginSearch(const LogQuery& query) const;

  /// Keys that are there.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Applies durable changes, takes over compacted stores, and begins the next action. It does long
  /// work in parts, and wakes itself for the rest.
  void Poll();

  /// Returns the time at which Poll() must be called even without a wake; a past time means at
  /// once. Returns nullopt if it need not be called.   Valid until the next call of any member.
  [[nodiscard]] std::optional<TimePoint> next_poll() const { return compaction_.Deadline(); }

  /// Requests that all records are frozen and merged as soon as possible, by Poll(), into as few
  /// files as FirstToPack() says. A failed action is tried again at once.
  void Compact();

  /// Makes a new directory that is the shard as of some moment before `handler` is called: with all
  /// writes that were acknowledged before this call. It may also have later ones, and writes whose
  /// outcome was kUnknown. See LinkShard(), which blocks.
  ///
  /// Errors: LinkShard's; kTransient if the log cannot be written, or out of memory. `why` is for
  /// people, and may be empty.
  using BackupHandler = UniqueFunction<void(ErrorCode failed, const std::string& why)>;
  void BackUp(const std::string& directory, BackupHandler handler);

  /// See SuccinctStores: of all files together. A merge keeps the number. While there is no file,
  /// it is the number that the first one gets, if it can have as many, and all else is 0 or false.
  /// @{
  [[nodiscard]] std::size_t layers() const { return layer_numbers().most(); }
  [[nodiscard]] std::uint64_t layer_bytes() const { return files_.layer_bytes(); }
  [[nodiscard]] const NextLayerBytes& next_layer_bytes() const { return files_.next_layer_bytes(); }
  [[nodiscard]] std::uint64_t finest_layer_bytes() const { return files_.finest_layer_bytes(); }
  /// Orders this number of layers for each file, or as many as it can have and there is memory for.
  /// Poll() fills them in the background, and takes them over when they are full. Layers that were
  /// ordered before are begun anew. Returns false if there is none to add.
  bool AddLayers(std::size_t count);
  bool AddLayer() { return AddLayers(1); }
  /// Removes the layers that are ordered, or if there is none, the finest layer. Their memory is
  /// free when it returns; see LayerFiller::Stop() for how long it may wait. Returns false if there
  /// is no layer.
  bool RemoveLayer();
  /// Layers are ordered, and not full yet.
  [[nodiscard]] bool filling() const { return files_.filling(); }
  /// @}

  [[nodiscard]] const ShardStats& stats() const { return stats_; }
  [[nodiscard]] const SuccinctStores& files() const { return files_; }
  /// Returns true if no compaction was under way or due at the last Poll().
  [[nodiscard]] bool Idle() const { return compaction_.idle(); }

 private:
  // The newest store's record of a key.
  struct Newest {
    Stamp stamp;
    bool deleted = false;
    std::string_view value;                      // Unless it is in a file:
    std::optional<SuccinctStores::Place> place;  // then this.
  };

  Shard(std::string directory, ShardOptions options);
  [[nodiscard]] ErrorCode Recover(ShardReport* report, Diagnostics* diagnostics);
  [[nodiscard]] ErrorCode OpenFiles(Diagnostics* diagnostics);

  [[nodiscard]] static Newest Of(const LogEntry& entry);
  [[nodiscard]] std::optional<Newest> Find(KeyView key) const;
  // Without the log's table.
  [[nodiscard]] std::optional<Newest> FindOlder(KeyView key) const;
  // Returns true if one of the SuffixStores from `first` on has the key, or a store that is newer
  // than all of them; or a store that is newer than the frozen table.
  [[nodiscard]] bool IsInNewer(KeyView key, std::size_t first) const;
  [[nodiscard]] bool IsInNewer(KeyView key) const { return log_->table().Find(key) != nullptr; }
  void OnApply(const Operation& operation, const LogEntry* before);

  // The candidates of each store: an existing key is in one of them.
  void OfferSuffixes(std::size_t i, std::optional<std::string_view> after, Keys which,
                     FirstKeys& first) const;

  // Returns true if a batch is taken while this number of bytes is unmerged or on its way to the
  // disk. The batch may be larger than the rest of the limit.
  [[nodiscard]] bool IsTaken(std::uint64_t changes, bool deletes_only) const;
  [[nodiscard]] std::uint64_t UnmergedBytes() const;
  void TellLog();
  void NoteLogFailures();

  void Begin(Compaction::Action action);
  void BeginFreeze();
  [[nodiscard]] Background::Work Sort() const;
  [[nodiscard]] Background::Work Merge();
  [[nodiscard]] Background::Work Publish() const;
  [[nodiscard]] Background::Work Remove();
  void AskToMerge();
  void Run(Background::Work work);
  void End(Finished finished);
  void HideSome();
  void HideInNew(KeyView key);
  void GoOver();
  [[nodiscard]] LayerNumbers layer_numbers() const {
    return files_.size() == 0 ? wanted_layers_ : files_.layer_numbers();
  }
  void OrderLayers(LayerNumbers wanted);
  void WantLayers(LayerNumbers wanted);
  // Begins to fill ordered layers, and takes over those that are full.
  void FillLayers();
  // Takes over those that are full by then. OrderLayers() has the others go on.
  void StopFilling();
  // Ordered layers that are not full are off. Requires StopFilling().
  void DropOrders();
  void Done() { compaction_.On(Compaction::Done{}, options_.now()); }
  void Fail(std::string_view why);
  [[nodiscard]] ShardManifest MergedManifest() const;

  const std::string directory_;
  const ShardOptions options_;
  ShardManifest manifest_;
  std::unique_ptr<LogDirectory> log_directory_;

  std::uint64_t size_ = 0;
  // Keys of the log's table and of frozen_.
  struct KeptKeys {
    TableKeys with_value, all;

    [[nodiscard]] TableKeys& Of(Keys which) { return which == Keys::kAll ? all : with_value; }
  };
  KeptKeys table_keys_, frozen_keys_;
  std::optional<FrozenLog> frozen_;                           // Until it is sorted.
  std::vector<std::shared_ptr<const SuffixStore>> suffixes_;  // The oldest first.
  std::uint64_t suffixes_through_ = 0;  // The last log file that they have all of.
  std::uint64_t suffix_bytes_ = 0;
  SuccinctStores files_;
  LayerNumbers wanted_layers_;  // of the files to come, if there are none
  std::unique_ptr<LogStore> log_;

  Compaction compaction_;
  std::optional<MergeSlots::Place> place_;  // of a merge that is due
  std::uint64_t frozen_at_ms_ = 0;          // When the last freeze was asked for.
  ShardStats stats_;
  bool pack_ = false;         // The next merge leaves as few files as it can.
  bool merge_packs_ = false;  // So does the one under way.
  // The files that the merge under way takes: the last ones, and some older ones.
  FileRun merging_;
  FileRun sweeping_;
  // Its new files, until queries have gone over to them. Their records are hidden by the first
  // `merged_seen_` entries that the log's table had when hiding began, and by all later ones.
  SuccinctStores merged_;
  SuccinctStores swept_;
  std::size_t merged_seen_ = 0;
  std::size_t merged_after_ = 0;
  // Stores that the last merge has made useless, for the background to free.
  std::vector<std::shared_ptr<const SuccinctStore>> old_files_;
  std::vector<std::shared_ptr<const SuffixStore>> old_suffixes_;

  std::vector<NewLayers> ordered_layers_;  // Poll() begins to fill them, or goes on.

  LayerFiller filler_;
  Background background_;  // Last: its work uses the others.
};

}  // namespace stout::blowfish
