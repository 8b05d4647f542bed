#pragma once

#include <optional>
#include <string_view>

#include "stout/adapters/hash_slot.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// The answer of a node that does not have all of a slot's keys.
struct Redirection {
  enum class Kind {
    kMoved,  // The slot is another node's, from now on.
    kAsk,    // The slot is being moved, and these keys are already there: this once, with ASKING.
  };

  Kind kind;
  Slot slot;
  RedisAddress node;

  bool operator==(const Redirection&) const = default;
};

// Reads "MOVED 3999 127.0.0.1:6381" and "ASK ...". Returns nullopt for another error. `asked` is
// the node that answered. An empty host in the answer means the host of `asked`.
[[nodiscard]] std::optional<Redirection> ParseRedirection(std::string_view error,
                                                          const RedisAddress& asked);

}  // namespace stout::redis
