#pragma once

#include <cstdint>
#include <span>

#include "node/key_turn.h"
#include "node/request.h"
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

/// One command on keys.
struct KeyCommand {
  resp::Command command;
  /// Checks the arguments, whose number is valid, and fills the request. What is wrong goes to
  /// request.error. Null if there is nothing to do.
  void (*parse)(Request& request) = nullptr;
  /// Carries it out on one of its keys; called once if it has none. Null for MULTI, EXEC, and the
  /// commands on all keys.
  void (*run)(KeyTurn& turn) = nullptr;
};

/// The rows.
/// @{
[[nodiscard]] std::span<const KeyCommand> AllKeysCommands();
[[nodiscard]] std::span<const KeyCommand> KeyspaceCommands();
[[nodiscard]] std::span<const KeyCommand> StringCommands();
[[nodiscard]] std::span<const KeyCommand> TransactionCommands();
/// @}

/// The descriptions of all rows, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> KeyCommands();

/// Returns the row of a command. Requires that it is one of KeyCommands().
[[nodiscard]] const KeyCommand& RowOf(const resp::Command& command);

}  // namespace stout::node
