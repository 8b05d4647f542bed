#pragma once

#include <cstdint>
#include <span>

#include "resp/server/command.h"

namespace stout::node {

/// The commands on keys.
struct CommandId {
  enum Number : std::uint8_t { kDel, kExists, kGet, kIncr, kMget, kMset, kSet, kStrlen };
};

/// The rows of the commands on keys, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> KeyCommands();

}  // namespace stout::node
