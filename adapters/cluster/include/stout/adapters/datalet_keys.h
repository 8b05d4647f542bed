#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stout/core/range_actions.h"
#include "stout/core/types.h"

namespace stout::internal {

// Keys of a datalet that are not those of clients, beside those of ranges (range_actions.h).

/// The key under which a node keeps the identity of the data in its own store. An empty store may
/// have it.
inline constexpr KeyView kDataKey = "stout:data";

/// Returns the prefix of a table's keys in a store. `id`: a 't' and a number. '!' is before all
/// digits, so the keys of a table follow each other in an ordered store.
[[nodiscard]] inline std::string TablePrefixOf(std::string_view id) {
  return std::string(kInternalKeys) + std::string(id) + '!';
}
/// The bytes that a table's prefix may have: the number has up to 20 digits.
inline constexpr std::size_t kMaxTablePrefix = kInternalKeys.size() + 1 + 20 + 1;

[[nodiscard]] inline bool IsOfTable(KeyView key) {
  const std::size_t digits = kInternalKeys.size() + 1;
  if (!key.starts_with("stout:t")) return false;
  const std::size_t end = key.find_first_not_of("0123456789", digits);
  return end != KeyView::npos && end > digits && key[end] == '!';
}

}  // namespace stout::internal
