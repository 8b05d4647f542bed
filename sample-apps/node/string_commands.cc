#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_options.h"
#include "resp/server/integer.h"
#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

using Condition = resp::SetOptions::Condition;

void Append(KeyTurn& turn) {
  const std::string_view tail = turn.arguments()[2];
  std::string value(turn.value.value_or(""));
  if (value.size() + tail.size() > turn.limits.max_value)
    return turn.reply.Error("ERR string exceeds maximum allowed size (--max-value)");
  value += tail;
  turn.reply.Integer(static_cast<std::int64_t>(value.size()));
  turn.Put(std::move(value), turn.deadline);  // also without a tail, for WATCH
}

template <int kStep>
void ParseStep(Request& request) {
  request.delta = kStep;
}

template <int kSign>
void ParseDelta(Request& request) {
  const auto number = resp::ParseInteger(request.arguments[2]);
  if (!number) {
    request.error = resp::kNotAnInteger;
  } else if (kSign < 0 && *number == std::numeric_limits<std::int64_t>::min()) {
    request.error = "ERR decrement would overflow";
  } else {
    request.delta = kSign * *number;
  }
}

// An error that depends on the value reveals it, so it waits as any other reply does.
void Add(KeyTurn& turn) {
  const auto number = resp::ParseInteger(turn.value.value_or("0"));
  if (!number) return turn.reply.Error(resp::kNotAnInteger);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*number, turn.request.delta, &sum))
    return turn.reply.Error("ERR increment or decrement would overflow");
  turn.Put(std::to_string(sum), turn.deadline);
  turn.reply.Integer(sum);
}

void Get(KeyTurn& turn) { (void)turn.ReplyValue(); }

void Getdel(KeyTurn& turn) {
  if (turn.ReplyValue()) turn.Remove();
}

void Getset(KeyTurn& turn) {
  if (turn.ReplyValue()) turn.Put(std::string(turn.arguments()[2]));
}

void Mget(KeyTurn& turn) {
  if (turn.first()) turn.reply.ArrayHeader(turn.request.keys());
  (void)turn.ReplyValue();
}

void ParseMset(Request& request) {
  if (request.arguments.size() % 2 == 0) request.error = resp::WrongArityError("mset");
  request.blind = true;
}

void Mset(KeyTurn& turn) {
  turn.Put(std::string(turn.arguments()[2 * turn.index + 2]));
  if (turn.last()) turn.reply.Ok();
}

void ParseSet(Request& request) {
  const auto options = resp::ParseSetOptions(request.arguments);
  if (!options) {
    request.error = options.error();
  } else {
    request.set = *options;
    request.blind = options->condition == Condition::kAlways && !options->get && !options->keep_ttl;
  }
}

void Set(KeyTurn& turn) {
  const resp::SetOptions& options = turn.request.set;
  std::optional<std::int64_t> deadline = options.keep_ttl ? turn.deadline : kNoDeadline;
  if (options.expiry) deadline = turn.DeadlineOf(*options.expiry);
  if (!deadline) return;
  if (options.get && !turn.ReplyValue()) return;
  const bool sets = options.condition == Condition::kAlways ||
                    (options.condition == Condition::kIfPresent) == turn.value.has_value();
  if (sets) turn.Put(std::string(turn.arguments()[2]), *deadline);
  if (!options.get) sets ? turn.reply.Ok() : turn.reply.Null();
}

void Setnx(KeyTurn& turn) {
  turn.reply.Integer(turn.value ? 0 : 1);
  if (!turn.value) turn.Put(std::string(turn.arguments()[2]));
}

void Strlen(KeyTurn& turn) {
  turn.reply.Integer(static_cast<std::int64_t>(turn.value.value_or("").size()));
}

using enum CommandId::Number;
using resp::RedisCommand;

constexpr KeyCommand kStringRows[] = {
    {RedisCommand(kAppend, "append"), nullptr, Append},
    {RedisCommand(kDecr, "decr"), ParseStep<-1>, Add},
    {RedisCommand(kDecrby, "decrby"), ParseDelta<-1>, Add},
    {RedisCommand(kGet, "get"), nullptr, Get},
    {RedisCommand(kGetdel, "getdel"), nullptr, Getdel},
    {RedisCommand(kGetset, "getset"), nullptr, Getset},
    {RedisCommand(kIncr, "incr"), ParseStep<1>, Add},
    {RedisCommand(kIncrby, "incrby"), ParseDelta<1>, Add},
    {RedisCommand(kMget, "mget"), nullptr, Mget},
    {RedisCommand(kMset, "mset"), ParseMset, Mset},
    {RedisCommand(kSet, "set"), ParseSet, Set},
    {RedisCommand(kSetnx, "setnx"), nullptr, Setnx},
    {RedisCommand(kStrlen, "strlen"), nullptr, Strlen},
};

}  // namespace

std::span<const KeyCommand> StringCommands() { return kStringRows; }

}  // namespace stout::node
