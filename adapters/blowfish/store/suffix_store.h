#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "blowfish/index/bytes_hash.h"
#include "blowfish/index/record.h"
#include "blowfish/log/log_table.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// Records that no longer change, in memory, not compressed. A part of the log is kept in this form
/// until there is enough of it to compress. It also has the tombstones of deleted keys, which hide
/// records of older stores.
///
/// Keys and values lie in the order of the keys. Each attribute has the order of its texts: a
/// suffix array of those suffixes that a search can begin with. So a prefix is searched as fast as
/// a whole value, and the found records are one stretch of that order. A key is found by its hash,
/// because each write asks whether there is an older one.
///
///     for (std::uint32_t r : store.SearchPrefix(city, "ro")) ... store.At(r) ...
///
/// Space: keys and values; 70 to 76 bytes a record, and 4 for each of its attributes. Building it
/// takes 48 bytes a record on top, for any number of attributes.
/// Cost: searches are binary, a cache miss or two a step.
/// Owner: it owns all that it hands out.   Threads: as a const value.
/// Paper: BlowFish (NSDI'16) Section 2, after Succinct (NSDI'15) Section 4.1 "SuffixStore".
class SuffixStore {
 public:
  /// Copies what the table has. Once `stop` asks for it, it ends soon, and is of no use.
  explicit SuffixStore(const LogTable& table, const std::stop_token& stop = {});
  SuffixStore(const SuffixStore&) = delete;
  SuffixStore& operator=(const SuffixStore&) = delete;

  [[nodiscard]] const Schema& schema() const { return schema_; }

  /// Records and tombstones, numbered in the order of their keys.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] const LogEntry& At(std::uint32_t entry) const { return entries_[entry]; }

  [[nodiscard]] std::optional<std::uint32_t> Find(std::string_view key) const;
  /// The first whose key is not before this one; size() if none is.
  [[nodiscard]] std::uint32_t LowerBound(std::string_view key) const;

  /// The records that have this value of an attribute, or a value that begins with it. They are in
  /// the order of their texts, and for equal texts, of their keys.
  [[nodiscard]] std::span<const std::uint32_t> Search(std::size_t attribute,
                                                      std::string_view value) const;
  [[nodiscard]] std::span<const std::uint32_t> SearchPrefix(std::size_t attribute,
                                                            std::string_view prefix) const;

  /// Bytes of keys and values, and those of keys alone.
  [[nodiscard]] std::size_t text_bytes() const { return text_.size(); }
  [[nodiscard]] std::size_t key_bytes() const { return key_bytes_; }
  /// Memory in use.
  [[nodiscard]] std::size_t bytes() const;

 private:
  // Entries of the store, by their keys.
  struct HashOfKey : BytesHash {
    const LogEntry* entries;
    using BytesHash::operator();
    std::size_t operator()(std::uint32_t entry) const noexcept {
      return (*this)(entries[entry].record.key);
    }
  };
  struct SameKey {
    using is_transparent = void;
    const LogEntry* entries;
    bool operator()(std::uint32_t a, std::uint32_t b) const noexcept { return a == b; }
    bool operator()(std::string_view key, std::uint32_t entry) const noexcept {
      return key == entries[entry].record.key;
    }
    bool operator()(std::uint32_t entry, std::string_view key) const noexcept {
      return (*this)(key, entry);
    }
  };
  using KeyIndex = boost::unordered_flat_set<std::uint32_t, HashOfKey, SameKey>;

  [[nodiscard]] std::string_view Text(std::uint32_t entry, std::size_t attribute) const {
    return *schema_.Attribute(entries_[entry].record.value, attribute);
  }

  // Returns the range of the attribute's order whose texts part(text) is the wanted one.
  template <typename Part>
  [[nodiscard]] std::span<const std::uint32_t> Matching(std::size_t attribute,
                                                        std::string_view wanted, Part part) const;

  Schema schema_;
  std::vector<char> text_;  // Keys and values, one behind the other.
  std::size_t key_bytes_ = 0;
  std::vector<LogEntry> entries_;  // Views of text_.
  KeyIndex by_key_;
  std::vector<std::vector<std::uint32_t>> orders_;  // By attribute: the records that have it.
};

}  // namespace stout::blowfish
