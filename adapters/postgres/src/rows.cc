#include "rows.h"

#include <algorithm>
#include <numeric>

namespace stout::postgres {

EncodedBatch::EncodedBatch(const WriteBatch& batch, const Schema& schema)
    : epoch(batch.epoch),
      scope(batch.scope),
      compares_stamps(schema.compares_stamps),
      all_or_nothing(batch.all_or_nothing),
      upserts{&schema.upsert, schema.own ? &schema.upsert_one : nullptr},
      removes{&schema.remove, nullptr} {
  // The order in which all lock rows.
  std::vector<std::uint32_t> order(batch.items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&batch](std::uint32_t a, std::uint32_t b) {
    return batch.items[a].key < batch.items[b].key;
  });
  for (const std::uint32_t i : order) {
    const WriteItem& item = batch.items[i];
    const bool deleted = item.kind == WriteKind::kDelete;
    Rows& rows = deleted && !schema.own ? removes : upserts;
    rows.items.push_back(i);
    rows.keys.Add(item.key);
    rows.versions.Add(static_cast<std::int64_t>(item.version));
    if (deleted) {
      rows.values.AddNull();
    } else {
      rows.values.Add(item.value);
    }
  }
}

Query EncodedBatch::Part(const Rows& rows, std::size_t first, std::size_t last) const {
  if (rows.of_one != nullptr && last - first == 1 && !rows.values.IsNull(first)) {
    return {rows.of_one,
            {std::string(rows.keys[first]), std::string(rows.values[first]),
             Int8(static_cast<std::int64_t>(epoch)), std::string(rows.versions[first])}};
  }
  Query query{rows.statement};
  query.parameters.push_back(rows.keys.Slice(first, last));
  if (&rows == &upserts) query.parameters.push_back(rows.values.Slice(first, last));
  if (compares_stamps) {
    query.parameters.push_back(Int8(static_cast<std::int64_t>(epoch)));
    query.parameters.push_back(rows.versions.Slice(first, last));
  }
  return query;
}

}  // namespace stout::postgres
