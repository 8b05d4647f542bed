#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stout::resp {

/// Returns the number that `text` spells in the one way in which redis would write it: without a
/// plus sign, without leading zeros or spaces, not as "-0". Returns nullopt for any other text or
/// out of range.
[[nodiscard]] std::optional<std::int64_t> ParseInteger(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> ParseUnsigned(std::string_view text);

}  // namespace stout::resp
