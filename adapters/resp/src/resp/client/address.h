#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resp/client/commands.h"

namespace stout::resp {

// The address of a server.
struct Address {
  std::string host{};
  std::uint16_t port = 0;
  std::string socket{};  // The path of a Unix socket, in place of host and port.
};

// "10.0.0.7:6379", "[::1]:6379", or the path of a socket.
[[nodiscard]] std::string NameOf(const Address& address);

// The part of a URL between "//" and its path: user, password and addresses.
struct Authority {
  std::string user{};      // Empty: the default user.
  std::string password{};  // Empty: there is none, and no user.
  std::vector<Address> addresses{};
};

// Reads "[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]"; there may be no host. Returns nullopt if
// it is malformed.
[[nodiscard]] std::optional<Authority> ReadAuthority(std::string_view text,
                                                     std::uint16_t default_port);

// Adds AUTH with the user and the password, if there is one of them.
void AppendAuth(std::string_view user, std::string_view password, Commands* commands);

}  // namespace stout::resp
