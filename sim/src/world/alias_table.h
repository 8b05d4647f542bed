#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stout/sim/random.h"

namespace stout::sim::internal {

/// Draws an index with probability proportional to its weight, in constant time: one random number
/// and one look-up of eight bytes. Walker (1977), built as Vose (1991) says.
///
/// Owner: value type; immutable, so that any number of clients may share one.
class AliasTable {
 public:
  /// Requires weights >= 0, at least one of them > 0, and less than 2^32 of them.
  explicit AliasTable(std::span<const double> weights);

  [[nodiscard]] std::uint32_t Draw(Random& random) const {
    // The product's whole part chooses a column, its fraction the one or the other who lives there.
    const double place = random.Unit() * static_cast<double>(columns_.size());
    const auto column = static_cast<std::uint32_t>(place);
    const bool own = place - static_cast<double>(column) < columns_[column].share;
    return own ? column : columns_[column].alias;
  }

 private:
  struct Column {
    float share;  // of the column that is its own
    std::uint32_t alias;
  };
  std::vector<Column> columns_;
};

}  // namespace stout::sim::internal
