#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace stout::internal {

/// Returns the number that the whole text is; nullopt if the text is empty, has anything before or
/// after the number, or N cannot hold it. As std::from_chars: no '+', no blanks, no prefix, a '-'
/// only for a signed N; a double may be "inf" or "nan".
template <typename N>
[[nodiscard]] std::optional<N> ParseNumber(std::string_view text) {
  N number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace stout::internal
