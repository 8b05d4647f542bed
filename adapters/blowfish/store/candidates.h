#pragma once

#include <optional>
#include <vector>

#include "blowfish/index/schema.h"
#include "blowfish/index/text_index.h"
#include "blowfish/log/log_table.h"

namespace stout::blowfish {

/// The rows of a text index whose records may match a query: all records that match are among them.
struct Candidates {
  std::vector<RowRange> rows;
  bool at_begin = false;  ///< Only rows at the beginning of a record count.
  bool certain = false;   ///< Records match. Otherwise each one's value has to be looked at.
};

/// Finds the rows of bytes that a matching value has to have. An attribute has the delimiter before
/// it and after it, except at the ends of the value. Which attribute it is, the index does not
/// know.
///
///     of `name|city`, SEARCH city rome:   "|rome" at the end of a record
///                     SEARCH name ann:    "ann|" and "ann", at the end, both at the beginning
///
/// Returns nullopt if any value may match.   Cost: some microseconds for each byte of the query, of
/// which it takes 256 at most.
[[nodiscard]] std::optional<Candidates> FindCandidates(const LogQuery& query, const Schema& schema,
                                                       const TextIndex& index);

}  // namespace stout::blowfish
