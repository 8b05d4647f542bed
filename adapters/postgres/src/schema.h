#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "connection.h"
#include "stout/adapters/postgres_store.h"

namespace stout::postgres {

// The statements of a store, over its own table or the user's.
struct Schema {
  Statement upsert;      // Own table: takes deletes too, as values that are NULL.
  Statement upsert_one;  // As `upsert`, of one row that is not NULL, by scalars. Own table only.
  Statement remove;      // Own table: none.
  Statement select;
  Statement stamps;  // As `select`; values do not matter.
  // A page of a scan. $1 bytea: the first key; $2, $3 int8: maximum number of keys and of bytes;
  // $4 int8: 1 with values, 0 without. Own table only.
  Statement scan;
  Statement note_epoch;  // $1 int8: an epoch that a write has.
  Statement write_log;   // Writes to the log, so that the commit waits for standbys.
  Statement new_epoch;   // One row with one int8.
  Statement collect;     // $1 int8 seconds: drops tombstones older than that. Own table only.
  // See fence.h. $1 bytea: a scope; $2 int8: an epoch.
  Statement share_scope;
  Statement check_fence;  // Fails if the scope is fenced by a newer epoch.
  Statement patience;     // $1 int8: milliseconds to wait for a lock in this transaction.
  Statement take_scope;
  Statement holds_fence;  // A row if the fence has this epoch.
  Statement raise_fence;  // Touches no row if there is a newer one.
  Statement evict;        // Ends the connections that hold the lock of the scope.
  bool own = true;
  bool compares_stamps = true;

  [[nodiscard]] std::vector<const Statement*> statements() const;

  // Creates the tables.
  std::string create;
  // Creates the row of the table of epochs. Part of `create`.
  std::string epoch_row;
  // Quoted, for messages and checks.
  std::string table;
  std::string epoch_table;
  std::string fence_table;
};

// Fails with a message on a name that is none.
[[nodiscard]] Result<Schema> MakeSchema(const PostgresOptions& options, std::string* error);

// Rows that one `collect` deletes at most.
inline constexpr std::size_t kCollectRows = 1000;

}  // namespace stout::postgres
