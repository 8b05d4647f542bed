#pragma once

#include <string_view>

namespace stout::postgres {

// The cause of an error, by its SQLSTATE.
enum class Blame {
  kRow,      // the server never takes this row
  kLock,     // another session holds a lock of the row or of its table
  kServer,   // the server or the transaction, not a row
  kUnknown,  // the SQLSTATE is in no list: if it repeats for one row, it is the row
};

// The server's message, before the epoch, if the store itself ends a batch that is fenced.
inline constexpr std::string_view kFencedBy = "fenced by epoch ";

struct SqlError {
  Blame blame;
  std::string_view remedy;  // without a full stop
};

[[nodiscard]] SqlError ExplainSqlstate(std::string_view sqlstate);

}  // namespace stout::postgres
