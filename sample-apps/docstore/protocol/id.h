#pragma once

#include <cstddef>
#include <string_view>

namespace stout::docstore {

inline constexpr std::size_t kMaxIdBytes = 128;

/// Returns true if `text` can name a document or a section: [A-Za-z0-9._-]{1,128}. Therefore an id
/// needs no escaping in a URL, a file name, a store key or a manifest.
[[nodiscard]] bool IsId(std::string_view text);

/// The same rule in words.
inline constexpr std::string_view kIdRule = "1 to 128 letters, digits, '.', '_' or '-'";

}  // namespace stout::docstore
