#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "blowfish/index/field.h"
#include "blowfish/index/psi.h"
#include "blowfish/index/text_samples.h"

namespace stout::blowfish {

/// Orders the suffixes of all records, and passes the order to a PsiWriter.
///
/// A record is a row of fields, and its end follows the last one. Fields are given from the last to
/// the first, and get their rows in that order. The suffixes that begin in a field are ordered by
/// their symbols there, then by the rest after the field, whose rows are known by then. So a field
/// of one symbol a record takes a counting sort. A field of more takes a suffix sort (divsufsort)
/// of its own text alone, in which each record's part ends with the row that follows.
///
/// The ends have rows too, above all others, in the order of the records: a walk that arrives at
/// row rows + r was in record r.
///
/// Cost: some 10 ns a row of a field of one symbol; 0.1 us a symbol of others.
/// Memory: for a field of many symbols, 9 times the text that is sorted. That text has a byte a
///   symbol, two for rare ones among more than 255 (SymbolCode), and up to 5 for the end of a
///   record.
/// Threads: none of its own; callers serialise.
class RowOrder {
 public:
  /// `rows`: of all fields together.
  RowOrder(std::uint32_t records, Row rows, PsiWriter& psi);

  /// In a field that is not the first, every record must have its first symbol from a part of the
  /// alphabet that is below all later symbols, so that those rows are adjacent. Once `stop` asks
  /// for it, it ends soon, and its result must not be used.
  ///
  /// `samples` gets the samples of the text. It is null unless the field is the only one.
  void Prepend(Field field, const std::stop_token& stop = {},
               TextSamples::Parts* samples = nullptr);

  /// Per record, the row of the first suffix of the field given last.
  [[nodiscard]] const std::vector<Row>& starts() const { return starts_; }

 private:
  void PrependOneEach(const Field& field, const std::stop_token& stop);
  void PrependText(Field field, const std::stop_token& stop, TextSamples::Parts* samples);

  PsiWriter& psi_;
  std::vector<Row> starts_;
  std::uint32_t first_symbol_ = 0;  // of the next field
};

}  // namespace stout::blowfish
