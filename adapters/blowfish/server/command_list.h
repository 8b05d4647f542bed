#pragma once

#include <cstdint>
#include <span>

#include "resp/server/command.h"

namespace stout::blowfish {

/// The numbers of the commands that shards have a part in, and of a few others.
struct CommandId {
  enum Number : std::uint8_t {
    // The server.
    kDbsize = 1,
    kFlushall,
    kFlushdb,
    // Keys and their values.
    kDel,
    kExists,
    kGet,
    kGetset,
    kMget,
    kMset,
    kScan,
    kSet,
    kSetnx,
    kStrlen,
    kType,
    // Commands that redis does not have: attributes, and the shards that hold them.
    kGetattr,
    kGrep,
    kLayers,
    kSchema,
    kSearch,
    // How stout::Store writes here.
    kStoutEpoch,
    kStoutFence,
    kStoutRead,
    kStoutScan,
    kStoutShards,
    kStoutWrite,
  };
};

/// The commands of the server, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> CommandList();

}  // namespace stout::blowfish
