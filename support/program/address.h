#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stout::program {

/// The address at which a program listens, or at which a server is reached.
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  /// "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] std::string Text() const;
  bool operator==(const Address&) const = default;
};

/// Reads where to listen: "127.0.0.1:8080", "[::1]:8080", ":8080". Port 0 is any free port.
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);

/// Reads where a server is found: needs a host and a port above 0, and an IPv6 address in brackets.
[[nodiscard]] std::optional<Address> ParsePeer(std::string_view text);

/// Reads "http://HOST[:PORT]", which a slash may follow. The port is 80 by default.
[[nodiscard]] std::optional<Address> ParseHttpUrl(std::string_view url);

/// Returns true if `host` means every address of the machine, which no other machine can connect
/// to.
[[nodiscard]] bool IsAnyAddress(const std::string& host);

}  // namespace stout::program
