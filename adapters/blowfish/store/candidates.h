#pragma once

#include <optional>
#include <vector>

#include "blowfish/index/text_index.h"
#include "blowfish/log/log_table.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// The rows of a text index whose records may match a query: all records that match are among them.
struct Candidates {
  std::vector<RowRange> rows;
  bool at_begin = false;  ///< Only rows at the beginning of a record count.
  bool certain = false;   ///< Every record of these rows matches. If false, read the values.
};

/// Finds the rows of bytes that a matching value has to have. An attribute has the delimiter before
/// it and after it, except at the ends of the value. The index does not know the attribute of a
/// row.
///
///     of `name|city`, SEARCH city rome:   "|rome" at the end of a record
///                     SEARCH name ann:    "ann|" at the beginning of a record
///                                         "ann" as a whole record
///
/// Returns nullopt if any value may match.
/// Cost: some microseconds for each byte of the query, and at most for its last 256 bytes.
[[nodiscard]] std::optional<Candidates> FindCandidates(const LogQuery& query, const Schema& schema,
                                                       const TextIndex& index);

}  // namespace stout::blowfish
