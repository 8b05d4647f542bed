#include "stout/adapters/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace stout {

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  std::uint64_t count = 0;
  const auto [number_end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  std::string unit(number_end, text.data() + text.size());
  if (unit.starts_with(' ')) unit.erase(0, 1);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });

  std::string_view rest = unit;
  const std::size_t prefix = rest.empty() ? rest.npos : std::string_view("kmgtpe").find(rest[0]);
  const std::size_t shift = prefix == rest.npos ? 0 : 10 * (prefix + 1);
  if (shift > 0) rest.remove_prefix(rest.substr(1).starts_with('i') ? 2 : 1);
  if (rest.starts_with('b')) rest.remove_prefix(1);
  if (!rest.empty() || count > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return std::nullopt;
  }
  return count << shift;
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::pair<std::string_view, int> kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
  for (const auto& [name, shift] : kUnits) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) {
      return fmt::format("{}{}", bytes >> shift, name);
    }
  }
  return std::to_string(bytes);
}

}  // namespace stout
