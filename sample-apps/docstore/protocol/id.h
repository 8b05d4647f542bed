#pragma once

#include <cstddef>
#include <string_view>

namespace stout::docstore {

inline constexpr std::size_t kMaxIdBytes = 128;

/// Returns true if `text` can name a document or a section: [A-Za-z0-9._-]{1,128}. Therefore an id
/// needs no escaping in a URL, a store key or a manifest. "." and ".." are ids, too, but many
/// clients resolve them in a path before they send it: curl needs --path-as-is.
[[nodiscard]] bool IsId(std::string_view text);

/// The same rule in words.
inline constexpr std::string_view kIdRule = "1 to 128 letters, digits, '.', '_' or '-'";

}  // namespace stout::docstore
