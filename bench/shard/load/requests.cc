#include "shard/load/requests.h"

#include <algorithm>
#include <stdexcept>

#include "blowfish/index/shard_of.h"
#include "shard/placed_records.h"

namespace stout::bench::shard {
namespace {

SearchClass FindClass(const Oracle& oracle, const std::string& name) {
  for (const SearchClass& of : SearchClasses(oracle.schema())) {
    if (of.name == name) return of;
  }
  throw std::runtime_error("no class of searches " + name);
}

}  // namespace

Requests::Requests(const Oracle& oracle, const RequestOptions& options, std::size_t shards)
    : oracle_(oracle),
      operations_(options.operations),
      keys_(options.keys),
      random_(options.seed),
      record_(oracle.size(), options.distribution),
      class_(FindClass(oracle, options.search_class)),
      skew_(options.skew) {
  if (operations_ != Operations::kGet) searcher_.emplace(oracle, class_, options.distribution);
  if (skew_) SplitByShard(options.distribution, shards);
}

void Requests::SplitByShard(const load::Distribution& distribution, std::size_t shards) {
  std::vector<std::vector<std::uint32_t>> split(shards);
  if (operations_ == Operations::kGet) {
    for (RecordNumber record = 0; record < oracle_.size(); ++record) {
      split[blowfish::ShardOf(ServedKey(oracle_.key(record)), shards)].push_back(record);
    }
  } else {
    std::uint32_t number = 0;
    for (const std::string_view value : oracle_.Distinct(class_.attributes.front())) {
      split[blowfish::ShardOf(value, shards)].push_back(number++);
    }
  }
  for (std::vector<std::uint32_t>& things : split) {
    if (things.empty()) throw std::runtime_error("a shard has none of what is asked for");
    const Choice choice(static_cast<std::uint32_t>(things.size()), distribution);
    shards_.push_back({std::move(things), choice});
  }
  shard_.emplace(static_cast<std::uint32_t>(shards), skew_->distribution.theta);
}

Requests::Kind Requests::Add(Duration due, resp::Commands& commands) {
  const OfShard* const shard = DrawShard(due);
  if (operations_ == Operations::kSearch ||
      (operations_ == Operations::kMix && random_.Below(2) == 1)) {
    const Search search = DrawSearch(shard);
    commands.Add({"SEARCH", oracle_.schema().names()[search.attribute], search.value});
    return Kind::kSearch;
  }
  commands.Begin(1 + keys_);
  commands.Argument(keys_ == 1 ? "GET" : "MGET");
  for (std::size_t i = 0; i < keys_; ++i) {
    const RecordNumber record = shard != nullptr ? shard->Draw(random_) : record_.Draw(random_);
    commands.Argument(ServedKey(oracle_.key(record)));
  }
  return Kind::kGet;
}

const Requests::OfShard* Requests::DrawShard(Duration due) {
  if (!skew_) return nullptr;
  const std::size_t turns =
      skew_->turn > Duration::zero() ? static_cast<std::size_t>(due / skew_->turn) : 0;
  return &shards_[(shard_->Draw(random_) + turns) % shards_.size()];
}

Search Requests::DrawSearch(const OfShard* shard) {
  if (shard == nullptr) return searcher_->Draw(random_);
  const std::size_t attribute = class_.attributes.front();
  return {attribute, oracle_.Distinct(attribute)[shard->Draw(random_)]};
}

}  // namespace stout::bench::shard
