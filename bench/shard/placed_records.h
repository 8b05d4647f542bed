#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shard/number_key.h"
#include "shard/record_source.h"

namespace stout::bench::shard {

/// Places records with the same value of an attribute on the same one of a number of shards.
struct Placement {
  std::size_t attribute = 0;
  std::size_t shards = 1;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Reads ATTRIBUTE:SHARDS, such as "partkey:3", for up to 64 shards; nothing if the text is not
/// that.
[[nodiscard]] std::optional<Placement> ParsePlacement(std::string_view text, const Schema& schema);

/// Returns a record's key on a server: the number of its key, in decimal. Requires a NumberKey.
[[nodiscard]] std::string ServedKey(std::string_view key);

/// Records of another source, with keys by which a server puts the records of a value on one shard.
/// That is the shard which would have the value as its key (blowfish::ShardOf). A key's number
/// becomes 4096 times as large, plus the least number that leads to that shard. Without it each
/// value's records are on all shards, and so a search loads all of them alike.
///
/// Owner: `source` outlives it.   Requires keys below 2^52.
class PlacedRecords final : public RecordSource {
 public:
  PlacedRecords(RecordSource& source, const Placement& placement)
      : source_(source), placement_(placement) {}

  [[nodiscard]] const Schema& schema() const override { return source_.schema(); }
  [[nodiscard]] std::optional<blowfish::Record> Next() override;
  void Rewind() override { source_.Rewind(); }

 private:
  RecordSource& source_;
  Placement placement_;
  NumberKey key_{};
};

}  // namespace stout::bench::shard
