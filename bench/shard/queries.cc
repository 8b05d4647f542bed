#include "shard/queries.h"

#include <array>
#include <numeric>
#include <utility>

namespace stout::bench::shard {
namespace {

constexpr std::array<std::string_view, 8> kMix8 = {"orderkey",      "partkey",  "suppkey",
                                                   "extendedprice", "shipdate", "commitdate",
                                                   "receiptdate",   "comment"};

/// Near the golden section, whose multiples, modulo 1, fill [0, 1) evenly (Knuth, TAOCP 3, 6.4).
std::uint32_t StrideFor(std::uint32_t size) {
  auto stride = static_cast<std::uint32_t>(size * 0.6180339887498949);
  while (std::gcd(stride, size) != 1) ++stride;
  return stride;
}

/// How many values have the text; it stops to count above `most`.
std::uint64_t HitsOfText(const Oracle& oracle, std::string_view text, std::uint64_t most) {
  std::uint64_t hits = 0;
  for (RecordNumber record = 0; record < oracle.size() && hits <= most; ++record) {
    hits += oracle.value(record).find(text) != std::string_view::npos ? 1 : 0;
  }
  return hits;
}

std::uint64_t Hits(const Oracle& oracle, const Search& search) {
  return oracle.Search(search.attribute, search.value).size();
}

}  // namespace

Choice::Choice(std::uint32_t size, const load::Distribution& distribution)
    : size_(size), stride_(StrideFor(size)) {
  if (distribution.theta > 0) zipf_.emplace(size, distribution.theta);
}

std::uint32_t Choice::Draw(SplitMix64& random) const {
  return zipf_ ? PlaceOf(zipf_->Draw(random)) : static_cast<std::uint32_t>(random.Below(size_));
}

std::uint32_t Choice::PlaceOf(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(std::uint64_t{rank} * stride_ % size_);
}

Searcher::Searcher(const Oracle& oracle, const SearchClass& of, const load::Distribution& values)
    : oracle_(oracle) {
  for (const std::size_t attribute : of.attributes) {
    const auto distinct = static_cast<std::uint32_t>(oracle.Distinct(attribute).size());
    choices_.push_back({attribute, Choice(distinct, values)});
  }
}

Search Searcher::Draw(SplitMix64& random) const {
  const auto& [attribute, choice] = choices_[random.Below(choices_.size())];
  return {attribute, oracle_.Distinct(attribute)[choice.Draw(random)]};
}

std::vector<SearchClass> SearchClasses(const Schema& schema) {
  std::vector<SearchClass> classes;
  for (std::size_t attribute = 0; attribute < schema.size(); ++attribute) {
    classes.push_back({schema.names()[attribute], {attribute}});
  }
  SearchClass mix{"mix8", {}};
  for (const std::string_view name : kMix8) {
    const auto attribute = schema.Find(name);
    if (!attribute) return classes;
    mix.attributes.push_back(*attribute);
  }
  classes.push_back(std::move(mix));
  return classes;
}

std::vector<Get> DrawGets(const Oracle& oracle, const load::Distribution& keys, std::size_t count,
                          std::uint64_t seed) {
  SplitMix64 random(seed);
  const Choice choice(oracle.size(), keys);
  std::vector<Get> gets(count);
  for (Get& get : gets) get.record = choice.Draw(random);
  return gets;
}

std::vector<Search> DrawSearches(const Oracle& oracle, const SearchClass& of,
                                 const load::Distribution& values, const SearchBounds& bounds,
                                 std::uint64_t seed) {
  SplitMix64 random(seed);
  const Searcher searcher(oracle, of, values);
  std::vector<Search> searches;
  std::uint64_t hits = 0;
  do {
    searches.push_back(searcher.Draw(random));
    hits += Hits(oracle, searches.back());
  } while (searches.size() < bounds.searches && hits < bounds.hits);
  return searches;
}

std::vector<Operation> DrawMix(const Oracle& oracle, const SearchClass& of,
                               const load::Distribution& keys_and_values,
                               const SearchBounds& bounds, std::uint64_t seed) {
  SplitMix64 random(seed);
  const Choice choice(oracle.size(), keys_and_values);
  const Searcher searcher(oracle, of, keys_and_values);
  std::vector<Operation> operations;
  std::size_t searches = 0;
  std::uint64_t hits = 0;
  do {
    if (random.Below(2) == 0) {
      operations.emplace_back(Get{choice.Draw(random)});
    } else {
      const Search search = searcher.Draw(random);
      operations.emplace_back(search);
      hits += Hits(oracle, search);
      ++searches;
    }
  } while (searches < bounds.searches && hits < bounds.hits);
  return operations;
}

std::vector<Substring> DrawSubstrings(const Oracle& oracle, const SubstringBounds& bounds,
                                      std::uint64_t seed) {
  constexpr std::size_t kTriesEach = 20;
  SplitMix64 random(seed);
  std::vector<Substring> substrings;
  for (std::size_t tries = kTriesEach * bounds.searches;
       tries > 0 && substrings.size() < bounds.searches; --tries) {
    const std::string_view value =
        oracle.value(static_cast<RecordNumber>(random.Below(oracle.size())));
    if (value.size() < bounds.bytes) continue;
    const std::string_view text =
        value.substr(random.Below(value.size() - bounds.bytes + 1), bounds.bytes);
    const std::uint64_t hits = HitsOfText(oracle, text, bounds.most_hits);
    if (hits <= bounds.most_hits) substrings.push_back({text, hits});
  }
  return substrings;
}

std::uint64_t Hits(const Oracle& oracle, const std::vector<Search>& searches) {
  return std::accumulate(
      searches.begin(), searches.end(), std::uint64_t{0},
      [&](std::uint64_t sum, const Search& search) { return sum + Hits(oracle, search); });
}

}  // namespace stout::bench::shard
