// Commands that read keys.
#include <optional>
#include <string_view>

#include "blowfish/index/byte_range.h"
#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/work.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"
#include "resp/server/redis_commands.h"
#include "stout/schema.h"

namespace stout::blowfish {
namespace {

using resp::RedisCommand;

void ReadValue(Work& work, const FoundState& state) { work.ReplyValue(state.value); }

void ReadPart(Work& work, const FoundState& state) { work.ReplyValue(state.value.value_or("")); }

Step FindExists(Work& work) {
  if (work.batch.writes > 0) return Step::kAfterWrites;
  work.subrequest.number = work.Exists(work.argument(work.subrequest.argument));
  return Step::kBegun;
}

Step FindType(Work& work) {
  if (work.batch.writes > 0) return Step::kAfterWrites;
  const bool exists = work.Exists(work.argument(1));
  work.Reply([&](resp::ReplyWriter& reply) { reply.SimpleString(exists ? "string" : "none"); });
  return Step::kBegun;
}

void ReadLength(Work& work, const FoundState& state) {
  work.Reply([&](resp::ReplyWriter& reply) {
    reply.Integer(state.value ? static_cast<std::int64_t>(state.value->size()) : 0);
  });
}

void ParseGetattr(Request& request, const ParseContext& context) {
  const auto attribute = context.schema.Find(request.arguments[2]);
  if (!attribute) {
    request.error = kNoSuchAttribute;
  } else {
    request.parsed = OneAttribute{*attribute};
  }
}

void ParseGetrange(Request& request, const ParseContext&) {
  const auto first = resp::ParseInteger(request.arguments[2]);
  const auto last = resp::ParseInteger(request.arguments[3]);
  if (!first || !last) {
    request.error = resp::kNotAnInteger;
  } else {
    request.parsed = ByteRange{*first, *last};
  }
}

using enum resp::CommandFlag::Bits;
using resp::CommandCategory::kString;

// clang-format off
constexpr ShardCommand kReadCommands[] = {
    {.command = RedisCommand(0, "exists"),
     .fan_out = ToEachKey<>, .begin = FindExists, .gather = GatherSum},
    {.command = RedisCommand(0, "get"),
     .fan_out = ToKey, .read = ReadValue, .gather = GatherCopy},
    {.command = {0, "getattr", 3, kReadonly | kFast, {1, 1, 1}, kString,
                 "blowfish", "0.1.0", "Returns an attribute of a key: GETATTR key attribute."},
     .parse = ParseGetattr, .fan_out = ToKey, .read = ReadValue, .gather = GatherCopy},
    {.command = RedisCommand(0, "getrange"),
     .parse = ParseGetrange, .fan_out = ToKey, .read = ReadPart, .gather = GatherCopy},
    {.command = RedisCommand(0, "mget"),
     .fan_out = ToEachKey<>, .read = ReadValue, .gather = GatherArray},
    {.command = RedisCommand(0, "strlen"),
     .fan_out = ToKey, .read = ReadLength, .gather = GatherCopy},
    {.command = RedisCommand(0, "substr"),
     .parse = ParseGetrange, .fan_out = ToKey, .read = ReadPart, .gather = GatherCopy},
    {.command = RedisCommand(0, "type"),
     .fan_out = ToKey, .begin = FindType, .gather = GatherCopy},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> ReadCommands() { return kReadCommands; }

}  // namespace stout::blowfish
