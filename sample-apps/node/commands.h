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
    kExpire,
    kExpireat,
    kExpiretime,
    kFlushall,
    kFlushdb,
    kGet,
    kGetattr,
    kGetdel,
    kGetex,
    kGetset,
    kGrep,
    kIncr,
    kIncrby,
    kMget,
    kMset,
    kMulti,
    kPersist,
    kPexpire,
    kPexpireat,
    kPexpiretime,
    kPsetex,
    kPttl,
    kScan,
    kSchema,
    kSearch,
    kSet,
    kSetex,
    kSetnx,
    kStoutAdmit,
    kStoutEpoch,
    kStoutDatalet,
    kStoutExec,
    kStoutForce,
    kStoutLevel,
    kStoutMode,
    kStoutMove,
    kStoutFence,
    kStoutPage,
    kStoutPeer,
    kStoutRange,
    kStoutRead,
    kStoutScan,
    kStoutShards,
    kStoutStamps,
    kStoutStates,
    kStoutStatus,
    kStoutTable,
    kStoutTag,
    kStoutWait,
    kStoutWrite,
    kStrlen,
    kTtl,
    kType,
    kUnlink,
    kUnwatch,
    kWait,
    kWatch,
  };
};

/// One command on keys.
struct KeyCommand {
  resp::Command command;
  /// Checks the arguments, whose number is valid, and fills the request. An error goes to
  /// request.error. Null if there is nothing to do.
  void (*parse)(Request& request) = nullptr;
  /// Carries it out on one of its keys. Null for MULTI and the like, and for the commands on all
  /// keys.
  void (*run)(KeyTurn& turn) = nullptr;
};

/// The rows.
/// @{
[[nodiscard]] std::span<const KeyCommand> AllKeysCommands();
[[nodiscard]] std::span<const KeyCommand> DataletRows();
[[nodiscard]] std::span<const KeyCommand> ExpiryCommands();
[[nodiscard]] std::span<const KeyCommand> KeyspaceCommands();
[[nodiscard]] std::span<const KeyCommand> LevelRows();
[[nodiscard]] std::span<const KeyCommand> OperationRows();
[[nodiscard]] std::span<const KeyCommand> PeerCommands();
[[nodiscard]] std::span<const KeyCommand> RangePageRows();
[[nodiscard]] std::span<const KeyCommand> RangeScanRows();
[[nodiscard]] std::span<const KeyCommand> SearchRows();
[[nodiscard]] std::span<const KeyCommand> StringCommands();
[[nodiscard]] std::span<const KeyCommand> TableRows();
[[nodiscard]] std::span<const KeyCommand> TenantRows();
[[nodiscard]] std::span<const KeyCommand> TransactionCommands();
/// @}

/// CLUSTER, READONLY and READWRITE.
[[nodiscard]] std::span<const resp::Command> ClusterCommands();

/// Returns true for those of CLUSTER that tell a client which node owns which keys.
[[nodiscard]] bool ShowsOwners(const resp::Command& command);

/// The descriptions of all rows, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> AllCommands();

/// Returns the row of a command. Requires that it is a KeyCommand.
[[nodiscard]] const KeyCommand& RowOf(const resp::Command& command);

/// The part of a connection that carries a command out.
enum class Runner : std::uint8_t {
  kRouter,  ///< on keys, at the maps that have them
  kKeyWalk,
  kValueSearch,
  kRangeScan,
  kDatalet,
  kOperations,
  kTables,
  kLevels,
  kTenants,
};

/// Requires that it is a KeyCommand.
[[nodiscard]] Runner RunnerOf(const resp::Command& command);

}  // namespace stout::node
