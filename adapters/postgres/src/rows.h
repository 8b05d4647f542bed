#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array.h"
#include "connection.h"
#include "schema.h"
#include "stout/core/batch.h"

namespace stout::postgres {

// Items of a batch that one statement takes, encoded, in the order of their keys.
struct Rows {
  const Statement* statement;
  const Statement* of_one;                // For a row that is not null; or null.
  std::vector<std::uint32_t> items = {};  // Index into the batch, by row.
  Array keys = Array(Type::kBytea);
  Array values = Array(Type::kBytea);
  Array versions = Array(Type::kInt8);

  [[nodiscard]] std::size_t size() const { return items.size(); }
};

// A batch as it is sent, whole or in parts. It needs neither the batch nor its store any more.
struct EncodedBatch {
  EncodedBatch(const WriteBatch& batch, const Schema& schema);

  [[nodiscard]] std::size_t size() const { return upserts.size() + removes.size(); }
  // The statement with the rows [first, last) of `rows`, which are this batch's.
  [[nodiscard]] Query Part(const Rows& rows, std::size_t first, std::size_t last) const;
  [[nodiscard]] Query Whole(const Rows& rows) const { return Part(rows, 0, rows.size()); }
  // Requires size() == 1.
  [[nodiscard]] std::string_view only_key() const {
    return upserts.size() > 0 ? upserts.keys[0] : removes.keys[0];
  }

  Epoch epoch;
  Scope scope;
  bool compares_stamps;
  bool all_or_nothing;
  Rows upserts;  // Deletes too, where the store's own table is written.
  Rows removes;
};

}  // namespace stout::postgres
