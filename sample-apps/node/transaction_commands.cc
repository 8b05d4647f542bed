#include <span>

#include "node/commands.h"
#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

void ParseUnwatch(Request& request) { request.status = "OK"; }

void Watch(KeyTurn& turn) {
  turn.request.states.push_back({turn.stamp, turn.value.has_value()});
  if (turn.last()) turn.reply.Ok();
}

using enum CommandId::Number;
using resp::RedisCommand;

constexpr KeyCommand kTransactionRows[] = {
    {RedisCommand(kDiscard, "discard"), ParseUnwatch},
    {RedisCommand(kExec, "exec")},
    {RedisCommand(kMulti, "multi")},
    {RedisCommand(kUnwatch, "unwatch"), ParseUnwatch},
    {RedisCommand(kWatch, "watch"), nullptr, Watch},
};

}  // namespace

std::span<const KeyCommand> TransactionCommands() { return kTransactionRows; }

}  // namespace stout::node
