// SCHEMA and LAYERS: how the shards are set up.
#include <optional>
#include <string_view>

#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/service.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/work.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"

namespace stout::blowfish {
namespace {

using resp::ReplyWriter;

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

void ReplyLayers(std::size_t layers, std::uint64_t bytes, const NextLayerBytes& next_layer_bytes,
                 ReplyWriter& reply) {
  reply.MapHeader(3);
  reply.NamedInteger("layers", layers);
  reply.NamedInteger("bytes", bytes);
  reply.NamedInteger("next-layer-bytes", next_layer_bytes.front());
}

// LAYERS
void ShowLayers(const resp::Call& call) {
  const Service& service = ServiceOf(call);
  call.reply.ArrayHeader(service.shards.size());
  for (std::size_t i = 0; i < service.shards.size(); ++i) {
    if (service.shards[i]->down()) {
      call.reply.Error(service.down[i]);
      continue;
    }
    const ShardStatus status = service.shards[i]->status();
    ReplyLayers(status.layers, status.layer_bytes, status.next_layer_bytes, call.reply);
  }
}

// LAYERS [shard [SET n]]
void ParseLayers(Request& request, const ParseContext& context) {
  const resp::Arguments arguments = request.arguments;
  if (arguments.size() == 1) return;
  LayersChange change;
  if (arguments.size() != 2) {
    if (arguments.size() == 4 && resp::EqualIgnoringCase(arguments[2], "SET"))
      change.layers = resp::ParseUnsigned(arguments[3]);
    if (!change.layers) {
      request.error = resp::kSyntaxError;
      return;
    }
  }
  request.parsed = change;
  (void)resp::ParseShard(*request.command, arguments, context.shards, request.error);
}

void ToNamedShardIfAny(FanOut& out) {
  if (out.request.arguments.size() > 1) ToNamedShard(out);
}

Step ChangeLayers(Work& work) {
  if (work.batch.writes > 0) return Step::kAfterWrites;
  Shard& shard = work.shard();
  if (const auto wanted = work.As<LayersChange>().layers) {
    while (shard.layers() > *wanted && shard.RemoveLayer()) continue;
    if (shard.layers() < *wanted) shard.AddLayers(*wanted - shard.layers());
  }
  work.Reply([&](ReplyWriter& reply) {
    ReplyLayers(shard.layers(), shard.layer_bytes(), shard.next_layer_bytes(), reply);
  });
  return Step::kBegun;
}

using enum resp::CommandFlag::Bits;

// clang-format off
constexpr ShardCommand kSettingCommands[] = {
    {.command = {0, "layers", -1, kAdmin, {}, 0,
                 "blowfish", "0.1.0",
                 "Shows or sets the number of layers: LAYERS [shard [SET n]].", {}, ShowLayers},
     .parse = ParseLayers, .fan_out = ToNamedShardIfAny, .begin = ChangeLayers,
     .gather = GatherCopy},
    {.command = {0, "schema", -1, kAdmin, {}, 0,
                 "blowfish", "0.1.0",
                 "Returns the delimiter of values and the names of their attributes.",
                 {}, ShowSchema}},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> SettingCommands() { return kSettingCommands; }

}  // namespace stout::blowfish
