#include "shard/load/requests.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "shard/number_key.h"

namespace stout::bench::shard {
namespace {

const SearchClass* FindClass(const std::vector<SearchClass>& classes, const std::string& name) {
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const auto& c) { return c.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

/// The records of each shard, by the rule that docs/SHARD.md keeps for good.
std::vector<std::vector<RecordNumber>> SplitByShard(const Oracle& oracle, std::size_t shards) {
  std::vector<std::vector<RecordNumber>> records(shards);
  for (RecordNumber record = 0; record < oracle.size(); ++record) {
    const std::string key = ServedKey(oracle, record);
    records[XXH3_64bits(key.data(), key.size()) % shards].push_back(record);
  }
  return records;
}

}  // namespace

std::string ServedKey(const Oracle& oracle, RecordNumber record) {
  return fmt::format_int(ToNumber(oracle.key(record)).value()).str();
}

Requests::Requests(const Oracle& oracle, const RequestOptions& options, std::size_t shards)
    : oracle_(oracle),
      operations_(options.operations),
      keys_(options.keys),
      random_(options.seed),
      record_(oracle.size(), options.distribution),
      skew_(options.skew) {
  if (operations_ != Operations::kGet) {
    const std::vector<SearchClass> classes = SearchClasses(oracle.schema());
    const SearchClass* const of = FindClass(classes, options.search_class);
    if (of == nullptr) throw std::runtime_error("no class of searches " + options.search_class);
    searcher_.emplace(oracle, *of, options.distribution);
  }
  if (!skew_) return;
  shard_.emplace(static_cast<std::uint32_t>(shards), skew_->distribution.theta);
  for (std::vector<RecordNumber>& records : SplitByShard(oracle, shards)) {
    const Choice choice(static_cast<std::uint32_t>(records.size()), options.distribution);
    shards_.push_back({std::move(records), choice});
  }
}

Requests::Kind Requests::Add(Duration due, resp::Commands& commands) {
  if (operations_ == Operations::kSearch ||
      (operations_ == Operations::kMix && random_.Below(2) == 1)) {
    const Search search = searcher_->Draw(random_);
    commands.Add({"SEARCH", oracle_.schema().names()[search.attribute], search.value});
    return Kind::kSearch;
  }
  const OfShard* const shard = DrawShard(due);
  commands.Begin(1 + keys_);
  commands.Argument(keys_ == 1 ? "GET" : "MGET");
  for (std::size_t i = 0; i < keys_; ++i) {
    const RecordNumber record =
        shard != nullptr ? shard->records[shard->choice.Draw(random_)] : record_.Draw(random_);
    commands.Argument(ServedKey(oracle_, record));
  }
  return Kind::kGet;
}

const Requests::OfShard* Requests::DrawShard(Duration due) {
  if (!skew_) return nullptr;
  const std::size_t turns =
      skew_->turn > Duration::zero() ? static_cast<std::size_t>(due / skew_->turn) : 0;
  return &shards_[(shard_->Draw(random_) + turns) % shards_.size()];
}

}  // namespace stout::bench::shard
