#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stout::program {

/// Where a program listens, or is found.
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;

  /// "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] std::string Text() const;
  bool operator==(const Address&) const = default;
};

/// "127.0.0.1:8080", "[::1]:8080", ":8080".
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);

}  // namespace stout::program
