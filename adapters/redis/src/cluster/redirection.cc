#include "cluster/redirection.h"

#include <cstdint>
#include <utility>

#include "stout/core/parse_number.h"

namespace stout::redis {
namespace {

// "HOST:PORT"; the host may be an IPv6 address without brackets, or missing.
std::optional<RedisAddress> ParseAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = internal::ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return std::nullopt;
  return RedisAddress{.host = std::string(text.substr(0, colon)), .port = *port};
}

}  // namespace

std::optional<Redirection> ParseRedirection(std::string_view error, const RedisAddress& asked) {
  const std::size_t first = error.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view code = error.substr(0, first);
  if (code != "MOVED" && code != "ASK") return std::nullopt;
  const std::size_t second = error.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto slot = internal::ParseNumber<Slot>(error.substr(first + 1, second - first - 1));
  auto node = ParseAddress(error.substr(second + 1));
  if (!slot || *slot >= kSlots || !node) return std::nullopt;
  if (node->host.empty()) node->host = asked.host;
  return Redirection{code == "MOVED" ? Redirection::Kind::kMoved : Redirection::Kind::kAsk, *slot,
                     *std::move(node)};
}

}  // namespace stout::redis
