#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/log/log_table.h"
#include "blowfish/store/candidates.h"
#include "blowfish/store/succinct_stores.h"
#include "blowfish/store/value_reader.h"

namespace stout::blowfish {

/// A search of one compressed file, in parts of some tenths of a millisecond: see ShardSearch.
///
/// | encoding | SEARCH                                        | GREP             |
/// |----------|-----------------------------------------------|------------------|
/// | kIndex   | locates the rows of the attribute's value     | reads all values |
/// | kBlocks  | reads all values                              | reads all values |
/// | kText    | locates rows of the bytes, reads their values | locates the rows |
///
/// If locating takes more steps than a text index has bytes, the search reads the other records.
///
/// Owner: the file outlives it, and the text of the query.   Threads: that of the file's layers.
/// Errors: out of memory, it throws.
class FileSearch {
 public:
  using Visitor = std::function<bool(KeyView)>;

  FileSearch(const LogQuery& query, const SearchedFile& file);

  /// Calls visit(key) for the matches of the next part that are not hidden, while it answers true.
  /// False: that is all, or enough.
  [[nodiscard]] bool Step(const Visitor& visit);

  /// Adds the matches of the next part to `matches`, or subtracts from it what is hidden of a
  /// number that it added before. Only this is called then, and not Step().
  [[nodiscard]] bool StepToCount(std::uint64_t& matches);

  /// Records that were located, or read, since the last call.
  [[nodiscard]] std::uint64_t TakeRecordsSeen();

 private:
  // Returns true if values have to be read to find the matches. The first call finds candidates.
  [[nodiscard]] bool ReadsAll();
  [[nodiscard]] bool Matches(std::string_view value) const;
  [[nodiscard]] bool ReadRecords(const Visitor& visit);
  // Returns the end of the records that the next part reads.
  [[nodiscard]] std::uint32_t EndOfPart() const;
  [[nodiscard]] ValueReader& Reader();
  [[nodiscard]] bool LocateRows(const Visitor& visit);
  // These search a text index.
  /// @{
  void FindInText();
  [[nodiscard]] bool LocateCandidates(const Visitor& visit);
  [[nodiscard]] bool ReadCandidates(const Visitor& visit);
  /// @}
  // Finds the rows; returns how many they are.
  std::uint64_t FindRows();
  [[nodiscard]] bool SubtractHidden(std::uint64_t& matches);
  // On average. Requires that there are records.
  [[nodiscard]] std::size_t BytesOfRecord() const;
  // False: the visitor has enough.
  bool See(std::uint32_t record, const Visitor& visit);

  LogQuery query_;
  const SearchedFile* file_;
  std::size_t bytes_of_part_;
  std::uint32_t next_ = 0;                     // Record.
  std::optional<std::vector<RowRange>> rows_;  // The rows that are not located yet.
  bool subtracts_ = false;  // hidden records from the count; rows_ are not located
  bool enough_ = false;
  std::uint32_t part_;  // Records that it reads at a time.
  std::uint64_t records_seen_ = 0;
  std::optional<ValueReader> reader_;
  std::string key_;  // Scratch.

  // For a text index:
  bool looked_ = false;                   // for candidates
  std::optional<Candidates> candidates_;  // Their rows are not located yet.
  std::vector<bool> located_;             // by record
  std::vector<std::uint32_t> to_read_;    // located, of candidates that are not certain
  Row rows_of_part_;                      // the number that it locates at a time
  std::uint64_t steps_ = 0;               // that locating and reading the candidates took
};

}  // namespace stout::blowfish
