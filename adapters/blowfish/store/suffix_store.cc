#include "blowfish/store/suffix_store.h"

#include <algorithm>
#include <utility>

namespace stout::blowfish {

SuffixStore::SuffixStore(const LogTable& table, const std::stop_token& stop)
    : schema_(table.schema()), orders_(schema_.size()) {
  const std::vector<const LogEntry*> entries = table.InKeyOrder();
  std::size_t value_bytes = 0;
  for (const LogEntry* entry : entries) {
    key_bytes_ += entry->record.key.size();
    value_bytes += entry->record.value.size();
  }
  text_.reserve(key_bytes_ + value_bytes);  // Views of it stay where they are.
  const auto keep = [this](std::string_view text) {
    const std::size_t at = text_.size();
    text_.insert(text_.end(), text.begin(), text.end());
    return std::string_view(text_.data() + at, text.size());
  };
  entries_.reserve(entries.size());
  for (const LogEntry* entry : entries) {
    LogEntry& kept = entries_.emplace_back(*entry);
    kept.record.key = keep(entry->record.key);
    kept.record.value = keep(entry->record.value);
  }
  if (stop.stop_requested()) return;
  by_key_ = KeyIndex(size(), HashOfKey{{}, entries_.data()}, SameKey{entries_.data()});
  for (std::uint32_t i = 0; i < size() && !stop.stop_requested(); ++i) by_key_.insert(i);

  // Attribute by attribute, so that the texts of one alone are kept beside the store.
  std::vector<std::optional<std::string_view>> rests;  // rest of the values
  rests.reserve(size());
  for (const LogEntry& entry : entries_) {
    rests.push_back(entry.deleted ? std::nullopt : std::optional(entry.record.value));
  }
  std::vector<std::pair<std::string_view, std::uint32_t>> texts;
  for (std::size_t a = 0; a < schema_.size() && !stop.stop_requested(); ++a) {
    const bool last = a + 1 == schema_.size();
    texts.clear();
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (!rests[i]) continue;
      const std::size_t end = last ? std::string_view::npos : rests[i]->find(schema_.delimiter());
      texts.emplace_back(rests[i]->substr(0, end), i);
      if (end == std::string_view::npos) {
        rests[i].reset();
      } else {
        rests[i]->remove_prefix(end + 1);
      }
    }
    std::ranges::sort(texts);
    orders_[a].reserve(texts.size());
    for (const auto& [text, entry] : texts) orders_[a].push_back(entry);
  }
}

std::uint32_t SuffixStore::LowerBound(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      entries_, key, {}, [](const LogEntry& entry) { return entry.record.key; });
  return static_cast<std::uint32_t>(found - entries_.begin());
}

std::optional<std::uint32_t> SuffixStore::Find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(*found);
}

template <typename Part>
std::span<const std::uint32_t> SuffixStore::Matching(std::size_t attribute, std::string_view wanted,
                                                     Part part) const {
  const std::span<const std::uint32_t> order = orders_[attribute];
  const auto first = std::partition_point(order.begin(), order.end(), [&](std::uint32_t entry) {
    return part(Text(entry, attribute)) < wanted;
  });
  const auto last = std::partition_point(first, order.end(), [&](std::uint32_t entry) {
    return part(Text(entry, attribute)) == wanted;
  });
  return order.subspan(first - order.begin(), last - first);
}

std::span<const std::uint32_t> SuffixStore::Search(std::size_t attribute,
                                                   std::string_view value) const {
  return Matching(attribute, value, [](std::string_view text) { return text; });
}

std::span<const std::uint32_t> SuffixStore::SearchPrefix(std::size_t attribute,
                                                         std::string_view prefix) const {
  return Matching(attribute, prefix,
                  [&](std::string_view text) { return text.substr(0, prefix.size()); });
}

std::size_t SuffixStore::bytes() const {
  constexpr std::size_t kBytesOfSlot = sizeof(std::uint32_t) + 1;  // With its part of the metadata.
  std::size_t bytes = text_.capacity() + entries_.capacity() * sizeof(LogEntry) +
                      by_key_.bucket_count() * kBytesOfSlot;
  for (const auto& order : orders_) bytes += order.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace stout::blowfish
