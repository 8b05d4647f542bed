#include "shard/load/shard_figures.h"

#include <charconv>
#include <cstddef>

namespace stout::bench::shard {
namespace {

/// Takes what stands before the next `separator`, or all.
std::string_view TakeUntil(char separator, std::string_view& text) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return taken;
}

std::uint64_t ToFigure(std::string_view text) {
  std::uint64_t figure = 0;
  std::from_chars(text.data(), text.data() + text.size(), figure);
  return figure;
}

/// Reads a field of "keys=7,queue=0,...".
ShardFigures ParseFields(std::string_view fields) {
  ShardFigures shard;
  while (!fields.empty()) {
    std::string_view field = TakeUntil(',', fields);
    const std::string_view name = TakeUntil('=', field);
    if (name == "keys") shard.keys = ToFigure(field);
    if (name == "compressed_bytes") shard.compressed_bytes = ToFigure(field);
    if (name == "queue") shard.queue = ToFigure(field);
    if (name == "layers") shard.layers = ToFigure(field);
    if (name == "layer_bytes") shard.layer_bytes = ToFigure(field);
  }
  return shard;
}

}  // namespace

std::vector<ShardFigures> ParseShardFigures(std::string_view info) {
  std::vector<ShardFigures> shards;
  while (!info.empty()) {
    std::string_view fields = TakeUntil('\n', info);
    const std::string_view name = TakeUntil(':', fields);
    // "shard0", "shard1", in this order.
    if (name.starts_with("shard") && fields.find('=') != fields.npos) {
      shards.push_back(ParseFields(fields));
    }
  }
  return shards;
}

}  // namespace stout::bench::shard
