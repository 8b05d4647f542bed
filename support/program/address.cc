#include "program/address.h"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>

#include "stout/core/parse_number.h"

namespace stout::program {

std::string Address::Text() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::optional<Address> ParseAddress(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = internal::ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return Address{.host = std::string(host), .port = *port};
}

std::optional<Address> ParsePeer(std::string_view text) {
  std::optional<Address> address = ParseAddress(text);
  if (!address || address->host.empty() || address->port == 0) return std::nullopt;
  const bool is_ipv6 = address->host.find(':') != std::string::npos;
  const bool has_bracket = address->host.find_first_of("[]") != std::string::npos;
  return is_ipv6 == text.starts_with('[') && !has_bracket ? address : std::nullopt;
}

std::optional<Address> ParseHttpUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  if (url.find_first_of("/?#@") != std::string_view::npos) return std::nullopt;
  const std::size_t bracket = url.rfind(']');  // of an IPv6 address
  const bool has_port =
      url.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
  auto address = ParseAddress(has_port ? std::string(url) : std::string(url) + ":80");
  return address && !address->host.empty() ? address : std::nullopt;
}

bool IsAnyAddress(const std::string& host) {
  boost::system::error_code is_name;
  const auto address = boost::asio::ip::make_address(host, is_name);
  return host.empty() || (!is_name && address.is_unspecified());
}

}  // namespace stout::program
