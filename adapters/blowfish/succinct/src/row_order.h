#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "field.h"
#include "psi.h"

namespace stout::blowfish {

/// Orders the suffixes of all records, and tells the order to a PsiWriter.
///
/// A record is a row of fields, the last of which its end follows. Fields are given from the last
/// to the first, and get their rows in that order: the suffixes that begin in a field are ordered
/// by their symbols there, then by what follows the field, whose rows are known by then. So a field
/// of one symbol a record takes a counting sort; one of more takes a suffix sort (divsufsort) of
/// its own text alone, in which each record's part ends with the row that follows.
///
/// The ends have rows too, above all others, in the order of the records: a walk that arrives at
/// row rows + r was in record r.
///
/// Cost: some 10 ns a row of a field of one symbol; 0.1 us a symbol of others.
/// Memory: of a field of many symbols, 9 times the text that is sorted: a byte a symbol, of those
/// that are rare among more than 255 two (SymbolCode), and up to 5 for the end of a record.
/// Threads: none of its own; callers serialise.
class RowOrder {
 public:
  /// `rows`: of all fields together.
  RowOrder(std::uint32_t records, Row rows, PsiWriter& psi);

  /// In a field that is not the first, every record must have its first symbol from a part of the
  /// alphabet that later symbols are not in, and that is below them: so those rows stand together.
  /// Once `stop` asks for it, it ends soon, and nothing of this is of any use.
  void Prepend(Field field, const std::stop_token& stop = {});

  /// Of each record, the row of the first suffix of the field given last.
  [[nodiscard]] const std::vector<Row>& starts() const { return starts_; }

 private:
  void PrependOneEach(const Field& field, const std::stop_token& stop);
  void PrependText(Field field, const std::stop_token& stop);

  PsiWriter& psi_;
  std::vector<Row> starts_;
  std::uint32_t first_symbol_ = 0;  // of the next field
};

}  // namespace stout::blowfish
