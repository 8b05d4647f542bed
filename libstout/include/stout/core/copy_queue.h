#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/batch.h"

namespace stout::internal {

/// The items that a walk must still copy to a member, in order. A copy takes the first ones.
///
/// Owner: a RangeWalk.   Threads: none of its own.
class CopyQueue {
 public:
  void Add(WriteItem item) {
    bytes_ += BytesOf(item);
    items_.push_back(std::move(item));
  }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  /// Returns the size of all keys and values.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Requires that the queue is not empty.
  [[nodiscard]] const std::string& first_key() const { return items_.front().key; }

  /// Begins a copy, or repeats the one that failed. Returns its items: no key occurs twice, and all
  /// but the last have fewer than `max_bytes`.
  [[nodiscard]] std::vector<WriteItem> Begin(std::size_t max_items, std::size_t max_bytes) {
    std::vector<WriteItem> copy;
    std::size_t bytes = 0;
    std::set<std::string_view> keys;  // a scan may find a key twice
    const std::size_t most = std::min(max_items_, max_items);
    for (const WriteItem& item : items_) {
      if (bytes >= max_bytes || copy.size() >= most) break;
      if (!keys.insert(item.key).second) break;
      bytes += BytesOf(item);
      copy.push_back(item);
    }
    copying_ = copy.size();
    return copy;
  }
  [[nodiscard]] bool copying() const { return copying_ != 0; }
  /// Makes the next copy half of this one. Returns false if this one has a single item.
  [[nodiscard]] bool Halve() {
    if (copying_ <= 1) return false;
    max_items_ = copying_ / 2;
    return true;
  }
  /// Ends a copy that succeeded: drops its items.
  void End() {
    max_items_ = SIZE_MAX;
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(std::exchange(copying_, 0));
    for (auto copied = items_.begin(); copied != end; ++copied) bytes_ -= BytesOf(*copied);
    items_.erase(items_.begin(), end);
  }

 private:
  [[nodiscard]] static std::size_t BytesOf(const WriteItem& item) {
    return item.key.size() + item.value.size();
  }

  std::vector<WriteItem> items_;
  std::size_t bytes_ = 0;
  std::size_t copying_ = 0;           // number of items in the copy under way
  std::size_t max_items_ = SIZE_MAX;  // of the next copy
};

}  // namespace stout::internal
