#include <span>

#include "node/commands.h"
#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

void Unwatch(KeyTurn& turn) {
  turn.transaction.Unwatch();
  turn.reply.Ok();
}

void Watch(KeyTurn& turn) {
  if (!turn.transaction.Watch(turn.key, turn.stamp, turn.limits.commands.max_request)) {
    turn.request.error = "ERR the watched keys are larger than --max-request";
  } else if (turn.last()) {
    turn.reply.Ok();
  }
}

using enum CommandId::Number;
using resp::RedisCommand;

constexpr KeyCommand kTransactionRows[] = {
    {RedisCommand(kDiscard, "discard"), nullptr, Unwatch},
    {RedisCommand(kExec, "exec")},
    {RedisCommand(kMulti, "multi")},
    {RedisCommand(kUnwatch, "unwatch"), nullptr, Unwatch},
    {RedisCommand(kWatch, "watch"), nullptr, Watch},
};

}  // namespace

std::span<const KeyCommand> TransactionCommands() { return kTransactionRows; }

}  // namespace stout::node
