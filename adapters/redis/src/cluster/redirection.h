#pragma once

#include <optional>
#include <string_view>

#include "cluster/hash_slot.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// What a node answers that has not, or not all, of a slot's keys.
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

// Of "MOVED 3999 127.0.0.1:6381" and "ASK ..."; nothing: the error is another one. `asked` is the
// node that said so: where it does not know its cluster's host names, it means its own.
[[nodiscard]] std::optional<Redirection> ParseRedirection(std::string_view error,
                                                          const RedisAddress& asked);

}  // namespace stout::redis
