#include <span>

#include "node/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_options.h"
#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

void Exists(KeyTurn& turn) {
  turn.count += turn.value.has_value();
  if (turn.last()) turn.reply.Integer(turn.count);
}

void Del(KeyTurn& turn) {
  turn.Remove();
  Exists(turn);
}

void Type(KeyTurn& turn) { turn.reply.SimpleString(turn.value ? "string" : "none"); }

void ParseFlush(Request& request) {
  const auto& arguments = request.arguments;
  const bool known = arguments.size() == 1 ||
                     (arguments.size() == 2 && (resp::EqualIgnoringCase(arguments[1], "ASYNC") ||
                                                resp::EqualIgnoringCase(arguments[1], "SYNC")));
  if (!known) request.error = resp::kSyntaxError;
}

void ParseScan(Request& request) {
  if (const auto options = resp::ParseScanOptions(request.arguments); !options)
    request.error = options.error();
}

using enum CommandId::Number;
using resp::RedisCommand;

constexpr KeyCommand kKeyspaceRows[] = {
    {RedisCommand(kDel, "del"), nullptr, Del},
    {RedisCommand(kExists, "exists"), nullptr, Exists},
    {RedisCommand(kType, "type"), nullptr, Type},
    {RedisCommand(kUnlink, "unlink"), nullptr, Del},
};

constexpr KeyCommand kAllKeysRows[] = {
    {RedisCommand(kDbsize, "dbsize")},
    {RedisCommand(kFlushall, "flushall"), ParseFlush},
    {RedisCommand(kFlushdb, "flushdb"), ParseFlush},
    {RedisCommand(kScan, "scan"), ParseScan},
};

}  // namespace

std::span<const KeyCommand> KeyspaceCommands() { return kKeyspaceRows; }

std::span<const KeyCommand> AllKeysCommands() { return kAllKeysRows; }

}  // namespace stout::node
