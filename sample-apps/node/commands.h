#pragma once

#include <cstdint>
#include <span>

#include "resp/server/command.h"

namespace stout::node {

/// The commands on keys.
struct CommandId {
  enum Number : std::uint8_t {
    kAppend = 1,
    kDecr,
    kDecrby,
    kDbsize,
    kDel,
    kDiscard,
    kExec,
    kExists,
    kFlushall,
    kFlushdb,
    kGet,
    kGetdel,
    kGetset,
    kIncr,
    kIncrby,
    kMget,
    kMset,
    kMulti,
    kScan,
    kSet,
    kSetnx,
    kStrlen,
    kType,
    kUnlink,
    kUnwatch,
    kWatch,
  };
};

/// The rows of the commands on keys, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> KeyCommands();

}  // namespace stout::node
