#include "resp/client/address.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "stout/adapters/store_url.h"
#include "stout/core/parse_number.h"

namespace stout::resp {
namespace {

std::optional<Address> ReadAddress(std::string_view text, std::uint16_t default_port) {
  Address address{.port = default_port};
  // The colons of "[::1]" are its own.
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) return std::nullopt;
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view port = end == text.npos ? "" : text.substr(bracketed ? end + 1 : end);
  const std::optional<std::string> decoded = PercentDecode(host);
  if (!decoded || decoded->empty()) return std::nullopt;
  address.host = *decoded;
  if (!port.empty()) {
    if (!port.starts_with(':')) return std::nullopt;
    const auto number = internal::ParseNumber<std::uint16_t>(port.substr(1));
    if (!number) return std::nullopt;
    address.port = *number;
  }
  return address;
}

bool ReadUser(std::string_view text, Authority* authority) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return false;  // a user without a password has nothing to say
  std::optional<std::string> user = PercentDecode(text.substr(0, colon));
  std::optional<std::string> password = PercentDecode(text.substr(colon + 1));
  if (!user || !password || password->empty()) return false;
  authority->user = *std::move(user);
  authority->password = *std::move(password);
  return true;
}

}  // namespace

std::string NameOf(const Address& address) {
  if (!address.socket.empty()) return address.socket;
  const bool is_ipv6 = address.host.find(':') != address.host.npos;
  return is_ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
                 : fmt::format("{}:{}", address.host, address.port);
}

std::optional<Authority> ReadAuthority(std::string_view text, std::uint16_t default_port) {
  Authority authority;
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    if (!ReadUser(text.substr(0, at), &authority)) return std::nullopt;
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::optional<Address> address = ReadAddress(text.substr(0, comma), default_port);
    if (!address) return std::nullopt;
    authority.addresses.push_back(*std::move(address));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return authority;
}

void AppendAuth(std::string_view user, std::string_view password, Commands* commands) {
  if (!user.empty()) {
    commands->Add({"AUTH", user, password});
  } else if (!password.empty()) {
    commands->Add({"AUTH", password});
  }
}

}  // namespace stout::resp
