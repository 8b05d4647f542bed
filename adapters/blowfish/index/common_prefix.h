#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace stout::blowfish {

/// How many bytes two strings have in common before they differ or one of them ends.
[[nodiscard]] inline std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
}

}  // namespace stout::blowfish
