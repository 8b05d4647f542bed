#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shard/record_source.h"

namespace stout::bench::shard {

/// Records are numbered from 0 by ascending key.
using RecordNumber = std::uint32_t;

/// Answers queries on records by means too simple to be wrong: all values side by side, a hash map
/// of their keys, and a list of records for each value of each attribute.
///
/// Owner: it has copies of all records; views are valid as long as it is.   Threads: as a const
///   value.
/// Cost: some 6 bytes of memory for each byte of a value; fewer than 2^32 records.
class Oracle {
 public:
  enum class Keep : std::uint8_t {
    kAll,
    /// Answers only size(), key() and last_value(), in 32 bytes of memory for each record, so that
    /// much data can be asked for beside its server.
    kKeys,
  };

  /// Reads the source from its beginning.
  explicit Oracle(RecordSource& source, Keep keep = Keep::kAll);
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] RecordNumber size() const { return static_cast<RecordNumber>(keys_.size()); }

  /// Bytes of values: what every ratio is over.
  [[nodiscard]] std::uint64_t raw_bytes() const { return text_.size(); }

  [[nodiscard]] std::string_view key(RecordNumber record) const { return keys_[record]; }
  [[nodiscard]] std::string_view value(RecordNumber record) const;
  /// Requires records.
  [[nodiscard]] std::string_view last_value() const;

  [[nodiscard]] std::optional<RecordNumber> Find(std::string_view key) const;

  /// The records with this value of that attribute, in ascending order.
  [[nodiscard]] std::span<const RecordNumber> Search(std::size_t attribute,
                                                     std::string_view value) const;

  /// The distinct values of an attribute, in the order in which they first appear.
  [[nodiscard]] std::span<const std::string_view> Distinct(std::size_t attribute) const;

 private:
  using NumberOf =
      boost::unordered_flat_map<std::string_view, RecordNumber, std::hash<std::string_view>>;

  struct Index {
    NumberOf number;  // of a value, in these:
    std::vector<std::string_view> values;
    std::vector<std::vector<RecordNumber>> records;
  };

  void AddToIndex(std::size_t attribute, std::string_view value, RecordNumber record);

  Schema schema_;
  std::string text_;                 // the values, one behind the other
  std::vector<std::uint64_t> ends_;  // of each, in text_
  std::vector<std::string> keys_;
  NumberOf number_;             // of a key's record
  std::vector<Index> indexes_;  // of each attribute
};

}  // namespace stout::bench::shard
