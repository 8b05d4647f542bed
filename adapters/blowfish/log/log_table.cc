#include "blowfish/log/log_table.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace stout::blowfish {
namespace {

std::uint64_t Fingerprint(std::size_t attribute, std::string_view text) {
  return Xxh3(text, attribute);
}

template <typename Table>
std::size_t TableBytes(const Table& table) {
  return table.bucket_count() * (sizeof(typename Table::value_type) + 1);  // A byte of the hash.
}

}  // namespace

bool LogQuery::Matches(std::string_view value, const Schema& schema) const {
  if (kind == Kind::kContains) return value.find(text) != value.npos;
  const std::optional<std::string_view> found = schema.Attribute(value, attribute);
  return found && MatchesAttribute(*found);
}

void LogTable::Apply(const Operation& operation) {
  const auto found = keys_.find(operation.key);
  if (found != keys_.end() && entries_[found->second].record.stamp >= operation.stamp) return;
  LogEntry& entry = found != keys_.end() ? entries_[found->second] : Add(operation.key);
  if (!entry.deleted) UnlinkRecord(entry);
  entry.record.stamp = operation.stamp;
  entry.record.value = arena_.Copy(operation.value);
  entry.deleted = operation.kind == Operation::Kind::kDelete;
  entry.deleted_at_ms = operation.deleted_at_ms;
  if (!entry.deleted) LinkRecord(entry);
}

// Without a state yet, which is to say, as a tombstone.
LogEntry& LogTable::Add(KeyView key) {
  LogEntry& entry = entries_.emplace_back();
  entry.record.key = arena_.Copy(key);
  entry.deleted = true;
  links_.resize(links_.size() + schema_.size());
  assert(links_.size() < kNone);
  keys_.emplace(entry.record.key, static_cast<std::uint32_t>(entries_.size() - 1));
  return entry;
}

const LogEntry* LogTable::Find(KeyView key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &entries_[found->second];
}

LogTable::LinkId LogTable::FirstLinkOf(const LogEntry& entry) const {
  return static_cast<LinkId>((&entry - entries_.data()) * schema_.size());
}

void LogTable::LinkRecord(const LogEntry& entry) {
  const LinkId first = FirstLinkOf(entry);
  schema_.Split(entry.record.value, [&](std::size_t attribute, std::string_view text) {
    LinkAttribute(first + attribute, Fingerprint(attribute, text));
  });
}

void LogTable::UnlinkRecord(const LogEntry& entry) {
  const LinkId first = FirstLinkOf(entry);
  schema_.Split(entry.record.value, [&](std::size_t attribute, std::string_view text) {
    UnlinkAttribute(first + attribute, Fingerprint(attribute, text));
  });
}

void LogTable::LinkAttribute(LinkId id, std::uint64_t fingerprint) {
  LinkId& first = lists_.try_emplace(fingerprint, kNone).first->second;
  links_[id] = {first, kNone};
  if (first != kNone) links_[first].previous = id;
  first = id;
}

void LogTable::UnlinkAttribute(LinkId id, std::uint64_t fingerprint) {
  const auto [next, previous] = links_[id];
  if (next != kNone) links_[next].previous = previous;
  if (previous != kNone) {
    links_[previous].next = next;
  } else if (next != kNone) {
    lists_[fingerprint] = next;
  } else {
    lists_.erase(fingerprint);
  }
}

LogTable::LinkId LogTable::FirstListed(const LogQuery& query) const {
  if (query.attribute >= schema_.size()) return kNone;
  const auto list = lists_.find(Fingerprint(query.attribute, query.text));
  return list == lists_.end() ? kNone : list->second;
}

std::vector<const LogEntry*> LogTable::InKeyOrder() const {
  std::vector<const LogEntry*> sorted;
  sorted.reserve(entries_.size());
  for (const LogEntry& entry : entries_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [](const LogEntry* a, const LogEntry* b) { return a->record.key < b->record.key; });
  return sorted;
}

std::size_t LogTable::bytes() const {
  return arena_.bytes() + entries_.capacity() * sizeof(LogEntry) +
         links_.capacity() * sizeof(Link) + TableBytes(keys_) + TableBytes(lists_);
}

}  // namespace stout::blowfish
