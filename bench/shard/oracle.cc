#include "shard/oracle.h"

#include <limits>
#include <stdexcept>

namespace stout::bench::shard {

Oracle::Oracle(RecordSource& source, Keep keep)
    : schema_(source.schema()), indexes_(schema_.size()) {
  source.Rewind();
  while (const auto record = source.Next()) {
    keys_.emplace_back(record->key);
    if (keep == Keep::kKeys) {
      text_.clear();
      ends_.clear();
    }
    text_ += record->value;
    ends_.push_back(text_.size());
  }
  if (keys_.size() >= std::numeric_limits<RecordNumber>::max()) {
    throw std::runtime_error("too many records for the benchmark: 2^32 or more");
  }
  if (keep == Keep::kKeys) return;
  // Only now does nothing move any more.
  for (RecordNumber record = 0; record < size(); ++record) {
    if (!number_.emplace(key(record), record).second) {
      throw std::runtime_error("two records of the benchmark have the same key");
    }
    schema_.Split(value(record), [&](std::size_t attribute, std::string_view value) {
      AddToIndex(attribute, value, record);
    });
  }
}

void Oracle::AddToIndex(std::size_t attribute, std::string_view value, RecordNumber record) {
  Index& index = indexes_[attribute];
  const auto [found, is_new] =
      index.number.emplace(value, static_cast<RecordNumber>(index.values.size()));
  if (is_new) {
    index.values.push_back(value);
    index.records.emplace_back();
  }
  index.records[found->second].push_back(record);
}

std::string_view Oracle::value(RecordNumber record) const {
  const std::uint64_t begin = record == 0 ? 0 : ends_[record - 1];
  return std::string_view(text_).substr(begin, ends_[record] - begin);
}

std::string_view Oracle::last_value() const {
  return std::string_view(text_).substr(ends_.size() < 2 ? 0 : ends_[ends_.size() - 2]);
}

std::optional<RecordNumber> Oracle::Find(std::string_view key) const {
  const auto found = number_.find(key);
  if (found == number_.end()) return std::nullopt;
  return found->second;
}

std::span<const RecordNumber> Oracle::Search(std::size_t attribute, std::string_view value) const {
  const Index& index = indexes_[attribute];
  const auto found = index.number.find(value);
  if (found == index.number.end()) return {};
  return index.records[found->second];
}

std::span<const std::string_view> Oracle::Distinct(std::size_t attribute) const {
  return indexes_[attribute].values;
}

}  // namespace stout::bench::shard
