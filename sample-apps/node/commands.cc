#include "node/commands.h"

#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

using enum CommandId::Number;
using resp::RedisCommand;

constexpr resp::Command kCommands[] = {
    RedisCommand(kAppend, "append"),
    RedisCommand(kDecr, "decr"),
    RedisCommand(kDecrby, "decrby"),
    RedisCommand(kDel, "del"),
    RedisCommand(kExists, "exists"),
    RedisCommand(kGet, "get"),
    RedisCommand(kGetdel, "getdel"),
    RedisCommand(kGetset, "getset"),
    RedisCommand(kIncr, "incr"),
    RedisCommand(kIncrby, "incrby"),
    RedisCommand(kMget, "mget"),
    RedisCommand(kMset, "mset"),
    RedisCommand(kSet, "set"),
    RedisCommand(kSetnx, "setnx"),
    RedisCommand(kStrlen, "strlen"),
    RedisCommand(kType, "type"),
    RedisCommand(kUnlink, "unlink"),
    // All keys.
    RedisCommand(kDbsize, "dbsize"),
    RedisCommand(kFlushall, "flushall"),
    RedisCommand(kFlushdb, "flushdb"),
    RedisCommand(kScan, "scan"),
    // Transactions.
    RedisCommand(kDiscard, "discard"),
    RedisCommand(kExec, "exec"),
    RedisCommand(kMulti, "multi"),
    RedisCommand(kUnwatch, "unwatch"),
    RedisCommand(kWatch, "watch"),
};

}  // namespace

std::span<const resp::Command> KeyCommands() { return kCommands; }

}  // namespace stout::node
