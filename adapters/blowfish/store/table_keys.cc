#include "blowfish/store/table_keys.h"

#include <algorithm>

namespace stout::blowfish {

void TableKeys::Offer(const LogTable& table, std::optional<std::string_view> after,
                      std::size_t count, const IsThere& is_there, FirstKeys& first) {
  TakeNew(table);
  std::string last;  // keys kept before another look
  while (true) {
    if (!Has(after)) Look(table, after, count, is_there);
    auto key = after ? std::ranges::upper_bound(keys_, *after) : keys_.begin();
    for (; key != keys_.end(); ++key) {
      if (is_there(*table.Find(*key)) && !first.Offer(*key)) return;
    }
    if (whole_) return;
    last = keys_.back();
    after = last;
  }
}

void TableKeys::OnApply(const Operation& operation, const LogEntry* before) {
  const bool comes_back = before && before->deleted && operation.kind == Operation::Kind::kPut;
  if (!comes_back || !valid_) return;
  const KeyView key = operation.key;
  const bool in_range = (!from_ || key > *from_) && (whole_ || key < keys_.back());
  if (in_range && !std::ranges::binary_search(keys_, key)) valid_ = false;
}

// Returns true if the keys behind the place are kept, or at least one of them.
bool TableKeys::Has(std::optional<std::string_view> place) const {
  if (!valid_ || (from_ && (!place || *place < *from_))) return false;
  return whole_ || !place || *place < keys_.back();
}

void TableKeys::TakeNew(const LogTable& table) {
  if (!valid_) return;
  const auto before = static_cast<std::ptrdiff_t>(keys_.size());
  const std::string last = whole_ ? std::string() : keys_.back();
  for (; seen_ < table.size(); ++seen_) {
    const KeyView key = table.At(seen_).record.key;
    if ((!from_ || key > *from_) && (whole_ || key < last)) keys_.emplace_back(key);
    if (keys_.size() > 2 * most_) {  // Another look keeps fewer.
      valid_ = false;
      return;
    }
  }
  std::sort(keys_.begin() + before, keys_.end());
  std::inplace_merge(keys_.begin(), keys_.begin() + before, keys_.end());
}

void TableKeys::Look(const LogTable& table, std::optional<std::string_view> after,
                     std::size_t count, const IsThere& is_there) {
  valid_ = false;
  most_ = std::max(count, kept_);
  FirstKeys first(most_);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const LogEntry& entry = table.At(i);
    if ((!after || entry.record.key > *after) && is_there(entry)) {
      (void)first.Offer(entry.record.key);
    }
  }
  from_ = after ? std::optional(std::string(*after)) : std::nullopt;
  keys_ = first.Take();
  whole_ = keys_.size() < most_;
  seen_ = table.size();
  valid_ = true;
}

}  // namespace stout::blowfish
