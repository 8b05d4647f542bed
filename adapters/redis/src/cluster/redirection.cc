#include "redirection.h"

#include <fmt/format.h>

#include <charconv>

namespace stout::redis {
namespace {

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Address> ParseAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return Address{std::string(host), *port};
}

std::string ToString(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format(v6 ? "[{}]:{}" : "{}:{}", address.host, address.port);
}

std::optional<Redirection> ParseRedirection(std::string_view error, const Address& asked) {
  const std::size_t first = error.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view code = error.substr(0, first);
  if (code != "MOVED" && code != "ASK") return std::nullopt;
  const std::size_t second = error.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto slot = ParseNumber<Slot>(error.substr(first + 1, second - first - 1));
  auto node = ParseAddress(error.substr(second + 1));
  if (!slot || *slot >= kSlots || !node) return std::nullopt;
  if (node->host.empty()) node->host = asked.host;
  return Redirection{code == "MOVED" ? Redirection::Kind::kMoved : Redirection::Kind::kAsk, *slot,
                     *std::move(node)};
}

}  // namespace stout::redis
