#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shard/number_key.h"
#include "shard/record_source.h"

namespace stout::bench::shard {

/// Records that have the same value of an attribute are to lie on the same one of so many shards.
struct Placement {
  std::size_t attribute = 0;
  std::size_t shards = 1;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Reads ATTRIBUTE:SHARDS, such as "partkey:3", for up to 64 shards; nothing if the text is not
/// that.
[[nodiscard]] std::optional<Placement> ParsePlacement(std::string_view text,
                                                      const blowfish::Schema& schema);

/// What a record is called on a server: the number that its key is, in decimal. Requires a
/// NumberKey.
[[nodiscard]] std::string ServedKey(std::string_view key);

/// Others' records, with keys by which a server puts those of a value on one shard, that which
/// would have the value as its key (blowfish::ShardOf): the number that a key was comes 4096 times
/// as large, and by some more, whatever it takes. Without it each value's records are on all
/// shards, and so a search burdens all alike.
///
/// Owner: `source` outlives it.   Requires keys below 2^52.
class PlacedRecords final : public RecordSource {
 public:
  PlacedRecords(RecordSource& source, const Placement& placement)
      : source_(source), placement_(placement) {}

  [[nodiscard]] const blowfish::Schema& schema() const override { return source_.schema(); }
  [[nodiscard]] std::optional<blowfish::Record> Next() override;
  void Rewind() override { source_.Rewind(); }

 private:
  RecordSource& source_;
  Placement placement_;
  NumberKey key_{};
};

}  // namespace stout::bench::shard
