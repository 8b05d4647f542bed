#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "connection.h"
#include "stout/adapters/postgres_store.h"

namespace stout::postgres {

// The statements of a store, over its own table or the user's.
struct Schema {
  Statement upsert;  // Own table: takes deletes too, as values that are NULL.
  Statement remove;  // Own table: none.
  Statement select;
  Statement stamps;      // As `select`; values do not matter.
  Statement note_epoch;  // $1 int8: an epoch that a write has.
  Statement new_epoch;   // One row with one int8.
  Statement collect;     // $1 int8 seconds: drops tombstones older than that. Own table only.
  bool own = true;
  bool compares_stamps = true;

  [[nodiscard]] std::vector<const Statement*> statements() const;

  // What creates the tables.
  std::string create;
  // Quoted, for messages and checks.
  std::string table;
  std::string epoch_table;
};

// Fails with a message on a name that is none.
[[nodiscard]] Result<Schema> MakeSchema(const PostgresOptions& options, std::string* error);

// Rows that one `collect` deletes at most.
inline constexpr std::size_t kCollectRows = 1000;

}  // namespace stout::postgres
