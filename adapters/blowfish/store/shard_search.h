#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "blowfish/log/log_table.h"
#include "blowfish/store/file_search.h"
#include "blowfish/store/hidden_records.h"
#include "blowfish/store/succinct_stores.h"
#include "blowfish/store/suffix_store.h"

namespace stout::blowfish {

/// The stores that hold the keys of a shard at one moment: see Shard.
struct ShardStores {
  std::shared_ptr<const LogTable> table;
  std::shared_ptr<const LogTable> frozen;                    ///< May be null.
  std::vector<std::shared_ptr<const SuffixStore>> suffixes;  ///< the oldest first
  std::vector<SearchedFile> files;                           ///< the oldest first
};

/// A search of a shard in parts, between which the shard may be written to, frozen and merged.
///
///     ShardSearch search = shard.BeginSearch(query);
///     while (search.Step([&](KeyView key) { return Show(key); })) {
///       search.Keep();
///       shard.Poll();
///     }
///
/// It looks once at each key that the shard has when it begins, as the key is at some moment
/// between the beginning and the end. So a key that matches all the time is found once. A key that
/// is changed meanwhile is taken as it was before or as it is then. A key that comes meanwhile is
/// not found.
///
/// The reason is that the search goes through the stores that the shard had when it began. Only the
/// log's table among them still changes, and it numbers its keys in the order in which they came.
/// Keep() copies which records of files were hidden.
///
/// Cost of a part: about 64 KiB of values, or some hundred records that an index has found. The
/// first part in a log's table also notes the numbers of the entries that it lists as equal, 4
/// bytes each. If these are more than kMaxListed, the search looks at all entries instead, in
/// parts. Owner: it shares the stores, so the file of a merged store lives as long as the search.
/// The text of the query must outlive it, and the shard must live until the first Keep() returns.
/// Threads: the shard's worker.   Errors: out of memory, Step() throws and ends the search.
class ShardSearch {
 public:
  using Visitor = std::function<bool(KeyView)>;

  /// Numbers that a part notes at most. A guess: a millisecond, if each were a miss of the cache.
  static constexpr std::size_t kMaxListed = std::size_t{1} << 13;

  /// A query kContains of no text finds all keys, and reads no values.
  ShardSearch(const LogQuery& query, ShardStores stores);
  ShardSearch(ShardSearch&&) = default;
  ShardSearch& operator=(ShardSearch&&) = delete;

  /// Calls visit(key) for the matches of the next part, while it answers true. False: that is all.
  [[nodiscard]] bool Step(const Visitor& visit);

  /// To be called between two parts if the shard is used in any other way between them, before
  /// that.
  ///
  /// Cost: a bit a record is copied by the first call.
  void Keep();

  /// Adds the matches of the next part to `matches`. Returns false if there is no further part.
  /// Requires that only this, and not Step(), is called. `matches` is a result at the end, and may
  /// be too large before.
  ///
  /// Cost: as Step(), except for kEqual and kPrefix in a file of Encoding::kIndex: there the index
  /// has the number of matching records, hidden ones included. The search reads the attribute of
  /// each hidden record and subtracts those that match. If fewer records match than are hidden, it
  /// locates these instead.
  [[nodiscard]] bool StepToCount(std::uint64_t& matches);

  /// Records of files that were located, or read, so far.
  [[nodiscard]] std::uint64_t records_seen() const { return records_seen_; }

 private:
  // Each does a part of a store; false: that was all of it.
  [[nodiscard]] bool StepInStore(const Visitor& visit);
  [[nodiscard]] bool StepInTable(const LogTable& table, std::size_t entries, const Visitor& visit);
  [[nodiscard]] bool StepInList(const LogTable& table, const Visitor& visit);
  void NoteList(const LogTable& table, std::size_t entries);
  [[nodiscard]] bool StepInSuffixes(const SuffixStore& store, const Visitor& visit);
  [[nodiscard]] bool StepInFile(const SearchedFile& file, const Visitor& visit);

  // False: the visitor has enough.
  bool See(KeyView key, const Visitor& visit);

  // The table had the key when the search began.
  [[nodiscard]] bool WasInTable(KeyView key) const;
  // A store newer than the one at hand had it then.
  [[nodiscard]] bool WasInNewer(KeyView key) const;
  [[nodiscard]] const SuffixStore& SuffixesAt(std::size_t store) const;

  LogQuery query_;
  ShardStores stores_;
  std::size_t entries_;                // in the table when the search began
  std::vector<HiddenRecords> hidden_;  // of the files: set by Keep()

  bool done_ = false;
  std::size_t store_ = 0;   // The one at hand, the newest first: table, frozen, suffixes, files.
  std::uint32_t next_ = 0;  // In it, unless it is a file.
  // The entries to look at, if the store is a table. Nullopt: all entries.
  std::optional<std::vector<std::uint32_t>> listed_;
  std::optional<FileSearch> in_file_;  // the part of it in the file at hand
  std::uint64_t* count_ = nullptr;     // the argument of StepToCount() while it runs
  std::uint64_t records_seen_ = 0;
};

}  // namespace stout::blowfish
