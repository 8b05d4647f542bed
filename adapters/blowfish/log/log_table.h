#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/bytes_hash.h"
#include "blowfish/index/record.h"
#include "blowfish/log/log_arena.h"
#include "blowfish/log/log_format.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// The log's entry of a key: a record, or the tombstone of one, which hides those of older stores.
struct LogEntry {
  Record record;
  bool deleted = false;             ///< Then the record has a stamp and no value.
  std::uint64_t deleted_at_ms = 0;  ///< Unix time.
};

/// Which records to look for.
struct LogQuery {
  enum class Kind : std::uint8_t {
    kEqual,     ///< The attribute is `text`.   Cost: of the answer.
    kPrefix,    ///< The attribute begins with `text`.   Cost: a look at every record.
    kContains,  ///< `text` is somewhere in the value; no attribute.   Cost: a look at every byte.
  };

  Kind kind = Kind::kEqual;
  std::size_t attribute = 0;  ///< Into the schema's names; one that is not there matches nothing.
  std::string_view text;

  [[nodiscard]] bool Matches(std::string_view value, const Schema& schema) const;
  /// Returns true if the value of the attribute is wanted. Requires kEqual or kPrefix.
  [[nodiscard]] bool MatchesAttribute(std::string_view attribute_value) const {
    return kind == Kind::kEqual ? attribute_value == text : attribute_value.starts_with(text);
  }
};

/// The newest states of the keys in a stretch of log, in memory: by key, and by the attributes.
///
/// Each record has one *link* for each attribute of the schema. The links of equal attributes make
/// up a list, in both directions, so that a change takes out the old ones at once. (Exactly, of an
/// equal fingerprint of attribute and text: a match is verified before it counts.)
///
///     fingerprint of (city, rome) ──► (ann, city) ◄──► (bob, city) ◄──► (eve, city)
///
/// Space: keys and values once, also overwritten ones, because the log has them as well and is cut
/// at a size. In addition 8 bytes an attribute, and some 25 for each distinct value of an
/// attribute.
/// Owner: owns all that it hands out. Bytes that views point to stay in place as long as the table
///   does, also when the key changes.
/// Threads: one writes while none reads; any number read a table that no longer changes.
class LogTable {
 public:
  /// At least this much memory is in use before the links run out of numbers.
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 30;

  explicit LogTable(Schema schema) : schema_(std::move(schema)) {}

  /// A put or a delete. One that is not newer than what the table has of the key changes nothing.
  void Apply(const Operation& operation);

  /// Returns the table's entry of a key. Null: ask the older stores. Valid until Apply().
  [[nodiscard]] const LogEntry* Find(KeyView key) const;

  [[nodiscard]] bool Matches(const LogEntry& entry, const LogQuery& query) const {
    return !entry.deleted && query.Matches(entry.record.value, schema_);
  }

  /// Calls visit(entry) with the number of each entry that is listed as equal to the query, which
  /// is kEqual, as long as it returns true. Each match is among them once. From time to time other
  /// entries are, too: see Matches(). Valid until Apply().   Cost: a look at a link for each.
  template <typename Visit>
  void ForEachListed(const LogQuery& query, Visit visit) const;

  /// Records and tombstones by key, for a compaction. Valid until Apply().   Cost: a sort.
  [[nodiscard]] std::vector<const LogEntry*> InKeyOrder() const;

  /// Keys, those of tombstones included.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The entries in the order in which their keys first came: entry < size(). Valid until Apply().
  [[nodiscard]] const LogEntry& At(std::size_t entry) const { return entries_[entry]; }
  /// Memory in use.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] const Schema& schema() const { return schema_; }

 private:
  // A link is the number of its entry times the number of attributes, plus the attribute.
  using LinkId = std::uint32_t;
  static constexpr LinkId kNone = std::numeric_limits<LinkId>::max();
  struct Link {
    LinkId next = kNone;
    LinkId previous = kNone;
  };

  LogEntry& Add(KeyView key);
  void LinkRecord(const LogEntry& entry);
  void UnlinkRecord(const LogEntry& entry);
  void LinkAttribute(LinkId id, std::uint64_t fingerprint);
  void UnlinkAttribute(LinkId id, std::uint64_t fingerprint);
  [[nodiscard]] LinkId FirstLinkOf(const LogEntry& entry) const;
  // The first of the links that may be equal.
  [[nodiscard]] LinkId FirstListed(const LogQuery& query) const;

  Schema schema_;
  LogArena arena_;
  std::vector<LogEntry> entries_;
  boost::unordered_flat_map<KeyView, std::uint32_t, BytesHash> keys_;  // Into entries_.
  std::vector<Link> links_;
  boost::unordered_flat_map<std::uint64_t, LinkId, HashItself>
      lists_;  // By fingerprint: the first.
};

template <typename Visit>
void LogTable::ForEachListed(const LogQuery& query, Visit visit) const {
  for (LinkId id = FirstListed(query); id != kNone; id = links_[id].next) {
    // The link of another attribute may be in the list, by a collision.
    if (id % schema_.size() == query.attribute && !visit(id / schema_.size())) return;
  }
}

}  // namespace stout::blowfish
