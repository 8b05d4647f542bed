#include "shard/peers/hash_peer.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <stdexcept>

#include "shard/number_key.h"

namespace stout::bench::shard {
namespace {

/// Memory of a Boost.Unordered flat map: groups of 15 elements with 16 bytes of metadata each.
template <typename Map>
std::uint64_t BytesOf(const Map& map) {
  constexpr std::size_t kGroup = 15;
  const std::size_t groups = (map.bucket_count() + kGroup) / kGroup;
  return groups * (kGroup * sizeof(typename Map::value_type) + 16);
}

class HashPeer final : public ShardPeer {
 public:
  [[nodiscard]] std::string Name() const override { return "hash"; }

  void Build(RecordSource& records) override {
    records.Rewind();
    while (const auto record = records.Next()) {
      const std::optional<std::uint64_t> key = ToNumber(record->key);
      if (!key) throw std::runtime_error("hash: a key is not of 8 bytes");
      record_of_.emplace(*key, static_cast<RecordNumber>(begins_.size()));
      begins_.push_back(text_.size());
      text_ += record->value;
    }
    begins_.push_back(text_.size());
    text_.shrink_to_fit();
    begins_.shrink_to_fit();
    IndexValues(records.schema());
  }

  bool Get(std::string_view key, std::string& value) override {
    const std::optional<std::uint64_t> number = ToNumber(key);
    if (!number) return false;
    const auto found = record_of_.find(*number);
    if (found == record_of_.end()) return false;
    value = ValueOf(found->second);
    return true;
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    const auto found = indexes_[attribute].lists.find(value);
    if (found == indexes_[attribute].lists.end()) return records.clear();
    const auto begin = indexes_[attribute].records.begin() + found->second.begin;
    records.assign(begin, begin + found->second.size);
  }

  std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    const auto found = indexes_[attribute].lists.find(value);
    return found == indexes_[attribute].lists.end() ? 0 : found->second.size;
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    space.Add("values", text_.capacity());
    space.Add("places of values", begins_.capacity() * sizeof(std::uint64_t));
    space.Add("keys", BytesOf(record_of_));
    std::uint64_t maps = 0;
    std::uint64_t lists = 0;
    for (const Index& index : indexes_) {
      maps += BytesOf(index.lists);
      lists += index.records.capacity() * sizeof(RecordNumber);
    }
    space.Add("index, values", maps);
    space.Add("index, lists", lists);
    return space;
  }

 private:
  /// A list of records, in those of its index.
  struct List {
    RecordNumber begin = 0;
    RecordNumber size = 0;
  };
  /// Index of one attribute.
  struct Index {
    boost::unordered_flat_map<std::string_view, List, std::hash<std::string_view>> lists;
    std::vector<RecordNumber> records;
  };

  [[nodiscard]] RecordNumber size() const { return static_cast<RecordNumber>(begins_.size() - 1); }
  [[nodiscard]] std::string_view ValueOf(RecordNumber record) const {
    return std::string_view(text_).substr(begins_[record], begins_[record + 1] - begins_[record]);
  }

  /// Calls visit(index, value, record) for all that has to be found.
  template <typename Visit>
  void VisitAll(const Schema& schema, Visit visit) {
    for (RecordNumber record = 0; record < size(); ++record) {
      schema.Split(ValueOf(record), [&](std::size_t attribute, std::string_view value) {
        visit(indexes_[attribute], value, record);
      });
    }
  }

  // Sizes first, so that lists can stand one behind the other.
  void IndexValues(const Schema& schema) {
    indexes_.resize(schema.size());
    VisitAll(schema,
             [](Index& index, std::string_view value, RecordNumber) { ++index.lists[value].size; });
    for (Index& index : indexes_) {
      RecordNumber begin = 0;
      for (auto& [value, list] : index.lists) {
        list.begin = begin;
        begin += list.size;
        list.size = 0;
      }
      index.records.resize(begin);
    }
    VisitAll(schema, [](Index& index, std::string_view value, RecordNumber record) {
      List& list = index.lists.find(value)->second;
      index.records[list.begin + list.size++] = record;
    });
  }

  std::string text_;
  std::vector<std::uint64_t> begins_;  // of each value in text_, and their end
  boost::unordered_flat_map<std::uint64_t, RecordNumber> record_of_;
  std::vector<Index> indexes_;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeHashPeer() { return std::make_unique<HashPeer>(); }

}  // namespace stout::bench::shard
