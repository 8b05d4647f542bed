#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "node/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_options.h"
#include "resp/server/integer.h"
#include "resp/server/redis_commands.h"

namespace stout::node {
namespace {

using From = resp::Expiry::From;

constexpr std::int64_t kMillisecond = 1;
constexpr std::int64_t kSecond = 1000;

// Requires that the key exists.
void SetDeadline(KeyTurn& turn, std::int64_t deadline) {
  deadline <= turn.now ? turn.Remove() : turn.Put(std::string(*turn.value), deadline);
}

// Returns the problem, or "".
std::string ParseConditions(resp::Arguments options, ExpireConditions& conditions) {
  auto& [nx, xx, gt, lt] = conditions;
  for (const std::string_view option : options) {
    if (resp::EqualIgnoringCase(option, "NX")) {
      nx = true;
    } else if (resp::EqualIgnoringCase(option, "XX")) {
      xx = true;
    } else if (resp::EqualIgnoringCase(option, "GT")) {
      gt = true;
    } else if (resp::EqualIgnoringCase(option, "LT")) {
      lt = true;
    } else {
      return fmt::format("ERR Unsupported option {}", option.substr(0, option.find('\0')));
    }
  }
  if (nx && (xx || gt || lt))
    return "ERR NX and XX, GT or LT options at the same time are not compatible";
  if (gt && lt) return "ERR GT and LT options at the same time are not compatible";
  return "";
}

template <From kFrom, std::int64_t kUnit>
void ParseExpire(Request& request) {
  request.error = ParseConditions(request.arguments.subspan(3), request.conditions);
  if (!request.error.empty()) return;
  const auto number = resp::ParseInteger(request.arguments[2]);
  std::int64_t milliseconds = 0;
  if (!number) {
    request.error = resp::kNotAnInteger;
  } else if (__builtin_mul_overflow(*number, kUnit, &milliseconds)) {
    request.error = resp::ExpireTimeError(request.command->name);
  } else {
    request.set.expiry = resp::Expiry{kFrom, milliseconds};
  }
}

void Expire(KeyTurn& turn) {
  const auto deadline = turn.DeadlineOf(*turn.request.set.expiry);
  if (!deadline) return;
  const auto& [nx, xx, gt, lt] = turn.request.conditions;
  const bool dated = turn.deadline != kNoDeadline;
  const bool sets = turn.value && !(nx && dated) && !(xx && !dated) &&
                    !(gt && (!dated || *deadline <= turn.deadline)) &&
                    !(lt && dated && *deadline >= turn.deadline);
  if (sets) SetDeadline(turn, *deadline);
  turn.reply.Integer(sets ? 1 : 0);
}

void ParseGetex(Request& request) {
  if (const auto options = resp::ParseGetexOptions(request.arguments)) {
    request.persist = options->persist;
    request.set.expiry = options->expiry;
  } else if (options.error() == resp::kSyntaxError) {
    request.error = options.error();
  } else {
    request.late_error = options.error();
  }
}

void Getex(KeyTurn& turn) {
  if (turn.value && !turn.request.late_error.empty()) {
    return turn.reply.Error(turn.request.late_error);
  }
  std::optional<std::int64_t> deadline;
  if (turn.request.set.expiry && turn.value) {
    deadline = turn.DeadlineOf(*turn.request.set.expiry);
    if (!deadline) return;
  }
  if (!turn.ReplyValue()) return;
  if (deadline) {
    SetDeadline(turn, *deadline);
  } else if (turn.request.persist && turn.deadline != kNoDeadline) {
    turn.Put(std::string(*turn.value));
  }
}

void Persist(KeyTurn& turn) {
  const bool dated = turn.deadline != kNoDeadline;
  if (dated) turn.Put(std::string(*turn.value));
  turn.reply.Integer(dated ? 1 : 0);
}

template <std::int64_t kUnit>
void ParseSetex(Request& request) {
  const auto expiry =
      resp::ParseExpiry(request.arguments[2], From::kNow, kUnit,
                        kUnit == kSecond ? "ERR invalid expire time in 'setex' command"
                                         : "ERR invalid expire time in 'psetex' command");
  if (expiry) {
    request.set.expiry = *expiry;
    request.blind = true;
  } else {
    request.error = expiry.error();
  }
}

void Setex(KeyTurn& turn) {
  const auto deadline = turn.DeadlineOf(*turn.request.set.expiry);
  if (!deadline) return;
  turn.Put(std::string(turn.arguments()[3]), *deadline);
  turn.reply.Ok();
}

// The nearest number of units.
template <From kFrom, std::int64_t kUnit>
void Ttl(KeyTurn& turn) {
  if (!turn.value) return turn.reply.Integer(-2);
  if (turn.deadline == kNoDeadline) return turn.reply.Integer(-1);
  const std::int64_t time = kFrom == From::kNow ? turn.deadline - turn.now : turn.deadline;
  turn.reply.Integer(time / kUnit + (2 * (time % kUnit) >= kUnit ? 1 : 0));
}

using enum CommandId::Number;
using resp::RedisCommand;

constexpr KeyCommand kExpiryRows[] = {
    {RedisCommand(kExpire, "expire"), ParseExpire<From::kNow, kSecond>, Expire},
    {RedisCommand(kExpireat, "expireat"), ParseExpire<From::kEpoch, kSecond>, Expire},
    {RedisCommand(kExpiretime, "expiretime"), nullptr, Ttl<From::kEpoch, kSecond>},
    {RedisCommand(kGetex, "getex"), ParseGetex, Getex},
    {RedisCommand(kPersist, "persist"), nullptr, Persist},
    {RedisCommand(kPexpire, "pexpire"), ParseExpire<From::kNow, kMillisecond>, Expire},
    {RedisCommand(kPexpireat, "pexpireat"), ParseExpire<From::kEpoch, kMillisecond>, Expire},
    {RedisCommand(kPexpiretime, "pexpiretime"), nullptr, Ttl<From::kEpoch, kMillisecond>},
    {RedisCommand(kPsetex, "psetex"), ParseSetex<kMillisecond>, Setex},
    {RedisCommand(kPttl, "pttl"), nullptr, Ttl<From::kNow, kMillisecond>},
    {RedisCommand(kSetex, "setex"), ParseSetex<kSecond>, Setex},
    {RedisCommand(kTtl, "ttl"), nullptr, Ttl<From::kNow, kSecond>},
};

}  // namespace

std::span<const KeyCommand> ExpiryCommands() { return kExpiryRows; }

}  // namespace stout::node
