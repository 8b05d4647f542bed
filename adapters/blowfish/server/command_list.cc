#include "command_list.h"

#include "resp/server/redis_commands.h"
#include "resp/server/reply_writer.h"
#include "resp/store/store_commands.h"
#include "service.h"

namespace stout::blowfish {
namespace {

using resp::ReplyWriter;

const Service& ServiceOf(const resp::Call& call) {
  return static_cast<const Service&>(call.service);
}

void ShowSchema(const resp::Call& call) {
  ReplyWriter& reply = call.reply;
  if (call.arguments.size() > 1) {
    return reply.Error("ERR the schema is set when a shard is made; see blowfish-server --help");
  }
  const Schema& schema = ServiceOf(call).shards.front()->schema();
  reply.MapHeader(2);
  reply.BulkString("delimiter");
  const char delimiter = schema.delimiter();
  reply.BulkString(std::string_view(&delimiter, 1));
  reply.BulkString("attributes");
  reply.ArrayHeader(schema.size());
  for (const std::string& name : schema.names()) reply.BulkString(name);
}

void ShowLayers(const resp::Call& call) {
  const Service& service = ServiceOf(call);
  ReplyWriter& reply = call.reply;
  reply.ArrayHeader(service.shards.size());
  for (const auto& shard : service.shards) {
    const ShardStatus status = shard->status();
    reply.MapHeader(3);
    reply.NamedInteger("layers", status.layers);
    reply.NamedInteger("bytes", status.layer_bytes);
    reply.NamedInteger("next-layer-bytes", status.next_layer_bytes);
  }
}

void ShowShards(const resp::Call& call) {
  const Service& service = ServiceOf(call);
  resp::ReplyFacts({.shards = service.shards.size(),
                    .batch = service.batch_limits,
                    .max_value = service.limits.commands.max_bulk,
                    .tombstone_life = ShardOptions().tombstone_life,
                    .data_id = service.data_id},
                   call.reply);
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;
using resp::RedisCommand;
using resp::CommandCategory::kString;

// Number, name and arity, flags, keys, categories; group, version, summary, arguments for HELP,
// function.
// clang-format off
constexpr resp::Command kCommands[] = {
    RedisCommand(kDbsize, "dbsize"),
    RedisCommand(kFlushall, "flushall"),
    RedisCommand(kFlushdb, "flushdb"),
    RedisCommand(kDel, "del"),
    RedisCommand(kExists, "exists"),
    RedisCommand(kGet, "get"),
    RedisCommand(kGetset, "getset"),
    RedisCommand(kMget, "mget"),
    RedisCommand(kMset, "mset"),
    RedisCommand(kScan, "scan"),
    RedisCommand(kSet, "set"),
    RedisCommand(kSetnx, "setnx"),
    RedisCommand(kStrlen, "strlen"),
    RedisCommand(kType, "type"),
    {kGetattr, "getattr", 3, kReadonly | kFast, {1, 1, 1}, kString,
     "blowfish", "0.1.0", "Returns an attribute of a key: GETATTR key attribute."},
    {kGrep, "grep", -2, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Finds keys by a part of a value: GREP substring [LIMIT n] [COUNT]."},
    {kLayers, "layers", -1, kAdmin, {}, 0,
     "blowfish", "0.1.0", "Shows or sets the number of layers: LAYERS [shard [SET n]].", {}, ShowLayers},
    {kSchema, "schema", -1, kAdmin, {}, 0,
     "blowfish", "0.1.0", "Returns the delimiter of values and the names of their attributes.", {}, ShowSchema},
    {kSearch, "search", -3, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Finds keys: SEARCH attribute value [PREFIX] [LIMIT n] [COUNT]."},
    {kStoutEpoch, "stout.epoch", -1, kWrite | kEndsBatch, {}, 0,
     "blowfish", "0.1.0", "Takes a new epoch."},
    {kStoutFence, "stout.fence", -1, kWrite, {}, 0,
     "blowfish", "0.1.0", "Shuts out older epochs."},
    {kStoutRead, "stout.read", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Reads a batch with its stamps."},
    {kStoutScan, "stout.scan", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Iterates over the keys of a shard with their stamps."},
    {kStoutShards, "stout.shards", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Lists the shards.", {}, ShowShards},
    {kStoutWrite, "stout.write", -1, kWrite | kDenyoom, {}, 0,
     "blowfish", "0.1.0", "Writes a batch by its stamps."},
};
// clang-format on

}  // namespace

std::span<const resp::Command> CommandList() { return kCommands; }

}  // namespace stout::blowfish
