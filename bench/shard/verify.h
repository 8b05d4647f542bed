#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shard/oracle.h"
#include "shard/peers/shard_peer.h"
#include "shard/queries.h"

namespace stout::bench::shard {

/// Returns the error of an answer, in a sentence with peer, question and the first difference; ""
/// if it is right.
using Mismatch = std::optional<std::string>;

/// The value of a key that a record has, byte for byte.
[[nodiscard]] Mismatch CheckGet(ShardPeer& peer, const Oracle& oracle, Get get);
/// That no record has such a key.
[[nodiscard]] Mismatch CheckNoGet(ShardPeer& peer, std::string_view key);
/// The set of records, and their number as Count tells it.
[[nodiscard]] Mismatch CheckSearch(ShardPeer& peer, const Oracle& oracle, const Search& search);

/// The set of keys whose values have the text.
[[nodiscard]] Mismatch CheckGrep(ShardPeer& peer, const Oracle& oracle, std::string_view text);

/// How much of a peer is verified before it is measured.
struct VerifyPlan {
  std::size_t gets = 500;  ///< random records, one by one and at once, and near keys
  /// Searches of each class of SearchClasses, and as many for no value. A self-index takes minutes
  /// to find half of all records 30 times.
  SearchBounds searches = {.searches = 30, .hits = 300'000};
  /// Number of substrings that are searched, and of others that hardly any value has. The first are
  /// short, so many values have them.
  std::size_t substrings = 5;
  std::uint64_t seed = 1;
};

/// The first mismatch that a sample finds. Requires records with keys that are not empty.
[[nodiscard]] Mismatch Verify(ShardPeer& peer, const Oracle& oracle, const VerifyPlan& plan);

}  // namespace stout::bench::shard
