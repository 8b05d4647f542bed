#include "resp/server/integer.h"

#include <charconv>
#include <system_error>

namespace stout::resp {
namespace {

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  return Parse<std::int64_t>(text);
}

std::optional<std::uint64_t> ParseUnsigned(std::string_view text) {
  return Parse<std::uint64_t>(text);
}

}  // namespace stout::resp
