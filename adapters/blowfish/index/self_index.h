#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "blowfish/index/field.h"
#include "blowfish/index/framed_array.h"
#include "blowfish/index/psi.h"
#include "blowfish/index/text_samples.h"

namespace stout::blowfish {

/// Rows that are next to each other: [first, last).
struct RowRange {
  Row first = 0;
  Row last = 0;

  [[nodiscard]] bool empty() const { return first == last; }
  [[nodiscard]] Row size() const { return last - first; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// The text of a collection of records as the order of its suffixes: compressed, searchable, and
/// readable from any record on. RecordIndex gives the symbols a meaning.
///
/// Rows are the suffixes of all records in their order. Psi has the first symbol of each and the
/// row of the next shorter suffix. The ends of the records are rows above all others, in the order
/// of the records: a walk of next rows that arrives at row rows() + r was in record r.
///
/// Example: the records "ab" and "b", with rows "ab", "b" (of record 0), "b" (of 1). Their ends are
/// the rows 3 and 4, Psi is a>1 b>3 b>4, and they start at the rows 0 and 2. "ab" is searched from
/// its end: b has the rows [1, 3), and the rows of a whose next row is in there are [0, 1).
///
/// Owner: none; the spans stay with the file.   Threads: any.
/// Paper: BlowFish (NSDI'16) Section 2; the text is not kept, as in Sadakane's compressed suffix
///   array (2003).
class SelfIndex {
 public:
  SelfIndex() = default;
  /// `first_rows`: of each symbol the first row, and at last rows().
  SelfIndex(Psi psi, std::span<const Row> first_rows, FramedArray starts, std::uint32_t records)
      : psi_(psi), first_rows_(first_rows), starts_(starts), records_(records) {}

  [[nodiscard]] const Psi& psi() const { return psi_; }
  [[nodiscard]] std::uint32_t records() const { return records_; }
  [[nodiscard]] Row rows() const { return static_cast<Row>(psi_.rows()); }

  /// Returns the start of a record's text: a row, or the record's end.
  [[nodiscard]] Row Start(std::uint32_t record) const { return starts_[record]; }
  void PrefetchStart(std::uint32_t record) const { starts_.PrefetchEntry(record); }

  [[nodiscard]] bool IsEnd(Row row) const { return row >= rows(); }
  /// The record of which a row is the end.
  [[nodiscard]] std::uint32_t EndedRecord(Row end) const {
    return std::min(end - rows(), records_ - 1);  // A Psi that is wrong may go beyond.
  }
  [[nodiscard]] RowRange Ends() const { return {rows(), rows() + records_}; }

  /// The rows that begin with one of the symbols [first, last).
  [[nodiscard]] RowRange RowsOf(std::uint32_t first, std::uint32_t last) const {
    return {first_rows_[first], first_rows_[last]};
  }

  /// Brings what Precede looks at first into the cache; for symbols that are known beforehand.
  void Prefetch(Symbol symbol) const {
    const RowRange rows = RowsOf(symbol, symbol + 1U);
    if (rows.empty()) return;
    psi_.Prefetch(rows.first);
    psi_.Prefetch(rows.last - 1);
  }

  /// The rows that begin with the symbol and go on with a row of `next`.
  [[nodiscard]] RowRange Precede(Symbol symbol, RowRange next) const;

 private:
  Psi psi_;
  std::span<const Row> first_rows_;
  FramedArray starts_;
  std::uint32_t records_ = 0;
};

/// The parts that a SelfIndex refers to.
struct SelfIndexParts {
  PsiWriter::Parts psi;
  std::vector<Row> first_rows;
  FramedArray::Parts starts;
  std::uint32_t records = 0;

  [[nodiscard]] SelfIndex View() const { return {psi.View(), first_rows, starts.View(), records}; }
};

/// Builds an index of records whose fields are these, each with symbols of its own: those of the
/// last field are the lowest. See RowOrder for what fields must be. `fields` is emptied as it goes.
/// `block`: of Psi. Once `stop` asks for it, it ends soon, and what it answers is of no use.
/// `samples`: see RowOrder::Prepend().
[[nodiscard]] SelfIndexParts BuildSelfIndex(std::vector<Field> fields, std::uint32_t records,
                                            std::uint32_t block = Psi::kBlock,
                                            const std::stop_token& stop = {},
                                            TextSamples::Parts* samples = nullptr);

}  // namespace stout::blowfish
