#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "blowfish/index/psi.h"

namespace stout::blowfish {

/// The content of one field of all records of an index: symbols of the field's own alphabet,
/// numbered from 0.
struct Field {
  /// Ends a record's part of `text`, where records have more than one symbol.
  static constexpr Symbol kEnd = std::numeric_limits<Symbol>::max();

  std::vector<Symbol> text;  ///< symbols of each record, in order
  std::size_t symbols = 0;   ///< All in `text` are below.
  bool one_each = false;     ///< Each record has exactly one symbol: there is no kEnd.

  /// Returns the rows of the field in an index of this number of records.
  [[nodiscard]] std::uint64_t rows(std::uint64_t records) const {
    return one_each ? text.size() : text.size() - records;
  }
};

}  // namespace stout::blowfish
