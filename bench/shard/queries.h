#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "load/workload.h"
#include "load/zipf.h"
#include "shard/oracle.h"
#include "stout/core/random.h"

namespace stout::bench::shard {

/// Chooses one of a number of things, uniformly or by Zipf's law, as the docstore load does.
///
/// The exponent is Zipf's: the i-th most frequent thing has a share in proportion to 1 /
/// i^exponent. The BlowFish paper's "skewness" is 1 - exponent. Its heavy skew, 0.01, is zipf:0.99
/// here. Its low one, 0.99, is zipf:0.01, next to uniform.
///
/// Frequent things are not neighbours. The place of a thing gives no information about its
/// frequency, so the order of a shard's records does not help its caches.
///
/// Owner: value type.   Threads: as a const value.   Cost: some 50 ns a draw, no memory.
class Choice {
 public:
  /// Requires size > 0.
  Choice(std::uint32_t size, const load::Distribution& distribution);

  [[nodiscard]] std::uint32_t Draw(SplitMix64& random) const;

  /// Returns the place of the thing with this rank, 0 being the most frequent; each has its own
  /// place.
  [[nodiscard]] std::uint32_t PlaceOf(std::uint32_t rank) const;

 private:
  std::uint32_t size_;
  std::uint32_t stride_;  // coprime to size_
  std::optional<load::Zipf> zipf_;
};

/// One record by its key.
struct Get {
  RecordNumber record = 0;

  friend bool operator==(const Get&, const Get&) = default;
};

/// All records with this value of that attribute.
struct Search {
  std::size_t attribute = 0;
  std::string_view value;  ///< owned by the oracle

  friend bool operator==(const Search&, const Search&) = default;
};

using Operation = std::variant<Get, Search>;

/// Searches of one kind: by some attributes, each as likely.
struct SearchClass {
  std::string name;
  std::vector<std::size_t> attributes;
};

/// One class an attribute, called like it; of lineitems also "mix8": the eight attributes that have
/// many values, orderkey, partkey, suppkey, extendedprice, three dates, and comment.
[[nodiscard]] std::vector<SearchClass> SearchClasses(const Schema& schema);

/// Draws searches of a class. The value is drawn from the distinct ones: one that many records have
/// is as likely as one that a single record has.
///
/// Owner: value type; the oracle outlives it.   Threads: as a const value.
class Searcher {
 public:
  /// Requires values of the attributes of the class.
  Searcher(const Oracle& oracle, const SearchClass& of, const load::Distribution& values);

  [[nodiscard]] Search Draw(SplitMix64& random) const;

 private:
  struct OfAttribute {
    std::size_t attribute;
    Choice choice;
  };

  const Oracle& oracle_;
  std::vector<OfAttribute> choices_;
};

/// Limits of a batch of searches. The first one that is reached ends it, so that the few values
/// that half of the records have do not take hours. A batch has at least one search.
struct SearchBounds {
  std::size_t searches = 64'000;
  std::uint64_t hits = 10'000'000;
};

/// A batch of operations: the same seed, data and bounds give the same batch. Requires records, and
/// values of the attributes of a class.
/// @{
[[nodiscard]] std::vector<Get> DrawGets(const Oracle& oracle, const load::Distribution& keys,
                                        std::size_t count, std::uint64_t seed);
[[nodiscard]] std::vector<Search> DrawSearches(const Oracle& oracle, const SearchClass& of,
                                               const load::Distribution& values,
                                               const SearchBounds& bounds, std::uint64_t seed);
/// The paper's mix: a get or a search, each with probability 1/2.
[[nodiscard]] std::vector<Operation> DrawMix(const Oracle& oracle, const SearchClass& of,
                                             const load::Distribution& keys_and_values,
                                             const SearchBounds& bounds, std::uint64_t seed);
/// @}

/// Limits of a batch of searches for substrings.
struct SubstringBounds {
  std::size_t searches = 0;
  std::size_t bytes = 12;           ///< length of a substring
  std::uint64_t most_hits = 1'000;  ///< values that have it, at most
};

/// A text, and how many values have it anywhere.
struct Substring {
  std::string_view text;  ///< owned by the oracle
  std::uint64_t hits = 0;
};

/// Draws substrings of random values, at random positions. There may be fewer than the bounds say
/// if most values are shorter, or most substrings in too many values.
[[nodiscard]] std::vector<Substring> DrawSubstrings(const Oracle& oracle,
                                                    const SubstringBounds& bounds,
                                                    std::uint64_t seed);

/// How many records a batch finds.
[[nodiscard]] std::uint64_t Hits(const Oracle& oracle, const std::vector<Search>& searches);

}  // namespace stout::bench::shard
