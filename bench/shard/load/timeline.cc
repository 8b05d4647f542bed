#include "shard/load/timeline.h"

#include <fmt/format.h>

#include <iterator>

namespace stout::bench::shard {
namespace {

constexpr double kNsPerMs = 1e6;

double ToSeconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void AppendLatencies(const Histogram& latency, std::string& out) {
  if (latency.count() == 0) {
    out += ",,,";
    return;
  }
  const auto quantile = [&](double q) {
    return static_cast<double>(latency.Quantile(q)) / kNsPerMs;
  };
  fmt::format_to(std::back_inserter(out), ",{:.4g},{:.4g},{:.4g}", latency.Mean() / kNsPerMs,
                 quantile(0.5), quantile(0.99));
}

void AppendShards(std::span<const ShardFigures> shards, std::size_t expected, std::string& out) {
  if (expected == 0) return;
  if (shards.size() != expected) {
    out.append(4 + 2 * expected, ',');
    return;
  }
  ShardFigures sum;
  for (const ShardFigures& shard : shards) {
    sum.queue += shard.queue;
    sum.layers += shard.layers;
    sum.layer_bytes += shard.layer_bytes;
    sum.compressed_bytes += shard.compressed_bytes;
  }
  const auto to = std::back_inserter(out);
  fmt::format_to(to, ",{},{},{},{}", sum.queue, sum.layers, sum.layer_bytes, sum.compressed_bytes);
  for (const ShardFigures& shard : shards) fmt::format_to(to, ",{},{}", shard.queue, shard.layers);
}

}  // namespace

std::string TimelineHeader(std::size_t shards) {
  std::string header =
      "time_s,offered_per_s,answered_per_s,mean_ms,p50_ms,p99_ms,offered,answered,failed,unsent,"
      "under_way";
  if (shards > 0) header += ",queue,layers,layer_bytes,compressed_bytes";
  for (std::size_t shard = 0; shard < shards; ++shard) {
    fmt::format_to(std::back_inserter(header), ",queue{0},layers{0}", shard);
  }
  return header + '\n';
}

std::string FormatRow(const TimelineRow& row, std::size_t shards) {
  const Tally& tally = row.tally;
  const double seconds = ToSeconds(row.end - row.begin);
  const auto per_second = [seconds](std::uint64_t count) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  };
  std::string line = fmt::format("{:.3f},{:.1f},{:.1f}", ToSeconds(row.end),
                                 per_second(tally.offered), per_second(tally.answered));
  AppendLatencies(tally.latency, line);
  fmt::format_to(std::back_inserter(line), ",{},{},{},{},{}", tally.offered, tally.answered,
                 tally.failed, tally.unsent, row.under_way);
  AppendShards(row.shards, shards, line);
  return line + '\n';
}

}  // namespace stout::bench::shard
