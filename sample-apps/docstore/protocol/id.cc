#include "protocol/id.h"

#include <algorithm>

namespace stout::docstore {

bool IsId(std::string_view text) {
  // Not std::isalnum: it depends on the locale.
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kMaxIdBytes &&
         std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace stout::docstore
