#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/hash_slot.h"

namespace stout::redis {

// Where a node listens for clients.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  auto operator<=>(const Address&) const = default;
};

// "HOST:PORT"; the host may be an IPv6 address, with brackets or without. Nothing: it is none.
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);
[[nodiscard]] std::string ToString(const Address& address);

// What a node answers that has not, or not all, of a slot's keys.
struct Redirection {
  enum class Kind {
    kMoved,  // The slot is another node's, from now on.
    kAsk,    // The slot is being moved, and these keys are already there: this once, with ASKING.
  };

  Kind kind;
  Slot slot;
  Address node;

  bool operator==(const Redirection&) const = default;
};

// Of "MOVED 3999 127.0.0.1:6381" and "ASK ..."; nothing: the error is another one. `asked` is the
// node that said so: where it does not know its cluster's host names, it means its own.
[[nodiscard]] std::optional<Redirection> ParseRedirection(std::string_view error,
                                                          const Address& asked);

}  // namespace stout::redis
