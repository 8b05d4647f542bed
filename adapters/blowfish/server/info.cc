#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/server/service.h"
#include "resp/server/info_text.h"

namespace stout::blowfish {
std::string Service::Info(resp::Arguments sections) const {
  resp::InfoText text(sections);
  std::vector<ShardStatus> statuses;
  ShardStatus sum;
  std::uint64_t waiting = 0;
  for (const auto& shard : shards) {
    const ShardStatus& status = statuses.emplace_back(shard->status());
    sum.keys += status.keys;
    sum.compressed_records += status.compressed_records;
    sum.compressed_bytes += status.compressed_bytes;
    sum.layer_bytes += status.layer_bytes;
    sum.added_layers += status.added_layers;
    sum.removed_layers += status.removed_layers;
    sum.stats.freezes += status.stats.freezes;
    sum.stats.merges += status.stats.merges;
    sum.stats.failed_compactions += status.stats.failed_compactions;
    waiting += shard->queue().waiting();
  }
  DescribeServer(*this, "blowfish_version", text);
  if (resp::DescribeMemory(memory_budget, text)) {
    text.Line("compressed_bytes", sum.compressed_bytes);
    text.Line("layer_bytes", sum.layer_bytes);
  }
  if (text.Section("Persistence")) {
    text.Line("loading", 0);
    text.Line("aof_enabled", 1);
    text.Line("freezes", sum.stats.freezes);
    text.Line("merges", sum.stats.merges);
    if (merge_slots) {
      const MergeSlots::Usage merges = merge_slots->usage();
      text.Line("merges_at_once", merge_slots->limit());
      text.Line("merges_running", merges.running);
      text.Line("merges_waiting", merges.waiting);
      text.Line("merge_memory_estimate", merges.bytes);
    }
    text.Line("failed_compactions", sum.stats.failed_compactions);
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      if (!statuses[i].stats.last_failure.empty())
        text.Line(fmt::format("shard{}_last_failure", i), statuses[i].stats.last_failure);
    }
  }
  if (DescribeStats(*this, text)) text.Line("requests_waiting", waiting);
  resp::DescribeReplication(*this, text);
  resp::DescribeCpu(text);
  DescribeCommands(command_stats, text);
  if (text.Section("Shards")) {
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      const ShardStatus& shard = statuses[i];
      if (const auto& down = shards[i]->down()) {
        text.Line(fmt::format("shard{}", i), "down=" + *down);
        continue;
      }
      text.Line(fmt::format("shard{}", i),
                fmt::format("keys={},compressed_records={},compressed_bytes={},queue={},layers={},"
                            "layer_bytes={},next_layer_bytes={},filling={},freezes={},merges={},"
                            "compressed_files={}",
                            shard.keys, shard.compressed_records, shard.compressed_bytes,
                            shards[i]->queue().waiting(), shard.layers, shard.layer_bytes,
                            shard.next_layer_bytes.front(), shard.filling ? 1 : 0,
                            shard.stats.freezes, shard.stats.merges, shard.compressed_files));
    }
  }
  if (text.Section("Navigation")) {
    text.Line("layers_added", sum.added_layers);
    text.Line("layers_removed", sum.removed_layers);
    text.Line("no_budget", navigation.no_budget);
    for (std::size_t i = 0; i < navigation.decisions.size(); ++i)
      text.Line(fmt::format("decision{}", i), navigation.decisions[i]);
  }
  resp::DescribeKeyspace(sum.keys, text);
  return text.Take();
}

std::vector<resp::Setting> Service::Settings() const {
  const bool text_index =
      std::ranges::any_of(shards, [](const auto& shard) { return shard->text_index(); });
  return {{"appendfsync", "always"},
          {"appendonly", "yes"},
          {"databases", "1"},
          {"max-batch-bytes", std::to_string(batch_limits.bytes)},
          {"max-batch-items", std::to_string(batch_limits.items)},
          {"max-request", std::to_string(limits.commands.max_request)},
          {"max-value", std::to_string(limits.commands.max_bulk)},
          {"maxmemory", std::to_string(memory_budget)},
          {"port", std::to_string(port)},
          {"proto-max-bulk-len", std::to_string(limits.commands.max_bulk)},
          {"save", ""},
          {"shards", std::to_string(shards.size())},
          {"text-index", text_index ? "yes" : "no"}};
}

}  // namespace stout::blowfish
