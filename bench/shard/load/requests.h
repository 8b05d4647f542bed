#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resp/client/commands.h"
#include "shard/oracle.h"
#include "shard/queries.h"
#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::bench::shard {

enum class Operations : std::uint8_t {
  kGet,
  kSearch,
  kMix,  ///< The paper's: a get or a search, each with probability 1/2.
};

/// How often each shard is chosen, by Zipf's law; shard 0 is the hottest at first. It is the shard
/// of the keys of gets. If records are placed by the attribute of the class, it is the shard of the
/// values of searches.
struct ShardSkew {
  load::Distribution distribution;
  /// After each such time the next shard is the hottest; zero: always the same.
  Duration turn{};
};

struct RequestOptions {
  Operations operations = Operations::kMix;
  std::string search_class = "mix8";  ///< See SearchClasses().
  std::size_t keys = 1;               ///< keys of a get; several, of one shard with a skew, by MGET
  load::Distribution distribution;    ///< of keys, and of searched values
  std::optional<ShardSkew> skew;      ///< Not of kMix.
  std::uint64_t seed = 1;
};

/// Draws requests for the data that `shard-data --format keyed | blowfish-load --drop-key` has
/// written to a server. It draws them one at a time, as shard-bench does in batches. Repeated
/// batches would find the layer entries that their first run has filled.
///
/// Owner: value type; the oracle outlives it.   Threads: none of its own.
/// Cost: some 100 ns a request.   Memory: with a skew, 4 bytes a record.
class Requests {
 public:
  enum class Kind : std::uint8_t { kGet, kSearch };

  /// Requires that the oracle has records, and with a skew, some in each of the shards. It must
  /// keep all of them, except for kGet. Throws std::runtime_error if there is no such class.
  Requests(const Oracle& oracle, const RequestOptions& options, std::size_t shards);

  /// Adds the command that is due at this time after the start of the load.
  Kind Add(Duration due, resp::Commands& commands);

 private:
  struct OfShard {
    std::vector<std::uint32_t> things;  // records, or the distinct values of an attribute
    Choice choice;

    [[nodiscard]] std::uint32_t Draw(SplitMix64& random) const {
      return things[choice.Draw(random)];
    }
  };

  void SplitByShard(const load::Distribution& distribution, std::size_t shards);
  // The one that a request is for; null: any.
  [[nodiscard]] const OfShard* DrawShard(Duration due);
  [[nodiscard]] Search DrawSearch(const OfShard* shard);

  const Oracle& oracle_;
  Operations operations_;
  std::size_t keys_;
  SplitMix64 random_;
  Choice record_;
  SearchClass class_;
  std::optional<Searcher> searcher_;
  std::optional<ShardSkew> skew_;
  std::optional<load::Zipf> shard_;
  std::vector<OfShard> shards_;
};

}  // namespace stout::bench::shard
