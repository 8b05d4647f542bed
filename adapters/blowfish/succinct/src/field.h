#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "psi.h"

namespace stout::blowfish {

/// What stands in one field of all records of an index: symbols of the field's own alphabet,
/// numbered from 0.
struct Field {
  /// Ends a record's part of `text`, where records have more than one symbol.
  static constexpr Symbol kEnd = std::numeric_limits<Symbol>::max();

  std::vector<Symbol> text;  ///< Of each record, in their order.
  std::size_t symbols = 0;   ///< All in `text` are below.
  bool one_each = false;     ///< Each record has exactly one symbol: there is no kEnd.

  /// Rows that the field has in an index of so many records.
  [[nodiscard]] std::uint64_t rows(std::uint64_t records) const {
    return one_each ? text.size() : text.size() - records;
  }
};

}  // namespace stout::blowfish
