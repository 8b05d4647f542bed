#include "info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "ascii.h"

namespace stout::blowfish {
namespace {

// Lines "name:value" below headings.
class Text {
 public:
  explicit Text(std::span<const std::string_view> sections) : sections_(sections) {}

  // Begins the section and returns true if it is asked for. `by_default`: also by an INFO without
  // names.
  bool Section(std::string_view name, bool by_default = true) {
    const bool asked = (sections_.empty() && by_default) ||
                       std::ranges::any_of(sections_, [&](std::string_view section) {
                         return EqualIgnoringCase(section, name) ||
                                EqualIgnoringCase(section, "all") ||
                                (EqualIgnoringCase(section, "default") && by_default) ||
                                EqualIgnoringCase(section, "everything");
                       });
    if (!asked) return false;
    if (!text_.empty()) text_ += "\r\n";
    fmt::format_to(std::back_inserter(text_), "# {}\r\n", name);
    return true;
  }
  template <typename Value>
  void Line(std::string_view name, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}:{}\r\n", name, value);
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  std::span<const std::string_view> sections_;
  std::string text_;
};

std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// These three are in the form of redis 7, which other programs parse.
void TellCommands(const CommandStats& stats, Text& text) {
  for (const CommandSpec& command : CommandList()) {
    const CommandStats::Counts& counts = stats.of(command);
    const std::uint64_t calls = counts.calls();
    if (calls == 0 && counts.rejected == 0) continue;
    const double us = calls == 0 ? 0 : counts.latency->sum() / 1000;
    text.Line(
        fmt::format("cmdstat_{}", command.name),
        fmt::format("calls={},usec={:.0f},usec_per_call={:.2f},rejected_calls={},failed_calls={}",
                    calls, us, calls == 0 ? 0 : us / static_cast<double>(calls), counts.rejected,
                    counts.failed));
  }
}

void TellErrors(const CommandStats& stats, Text& text) {
  for (const auto& [code, count] : stats.errors()) {
    text.Line(fmt::format("errorstat_{}", code), fmt::format("count={}", count));
  }
}

void TellLatencies(const CommandStats& stats, Text& text) {
  for (const CommandSpec& command : CommandList()) {
    const CommandStats::Counts& counts = stats.of(command);
    if (counts.calls() == 0) continue;
    const auto us = [&](double q) {
      return static_cast<double>(counts.latency->Quantile(q)) / 1000;
    };
    text.Line(fmt::format("latency_percentiles_usec_{}", command.name),
              fmt::format("p50={:.3f},p99={:.3f},p99.9={:.3f}", us(0.5), us(0.99), us(0.999)));
  }
}

}  // namespace

std::string Info(const Service& service, std::span<const std::string_view> sections) {
  Text text(sections);
  std::vector<ShardStatus> shards;
  ShardStatus sum;
  std::uint64_t waiting = 0;
  for (const auto& shard : service.shards) {
    const ShardStatus& status = shards.emplace_back(shard->status());
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
  const ServiceStats& stats = service.stats;
  if (text.Section("Server")) {
    text.Line("redis_version", kRedisVersion);
    text.Line("redis_mode", "standalone");
    text.Line("blowfish_version", kServerVersion);
    text.Line("process_id", ::getpid());
    text.Line("tcp_port", service.port);
    text.Line("uptime_in_seconds",
              std::chrono::duration_cast<std::chrono::seconds>(ShardQueue::Now() - service.started)
                  .count());
  }
  if (text.Section("Clients")) {
    text.Line("connected_clients", service.sessions.size());
    text.Line("slow_readers_cut_off", stats.slow_readers);
  }
  if (text.Section("Memory")) {
    const std::uint64_t resident = ResidentBytes();
    text.Line("used_memory", resident);
    text.Line("used_memory_rss", resident);
    text.Line("maxmemory", service.memory_budget);
    text.Line("compressed_bytes", sum.compressed_bytes);
    text.Line("layer_bytes", sum.layer_bytes);
  }
  if (text.Section("Persistence")) {
    text.Line("loading", 0);
    text.Line("aof_enabled", 1);
    text.Line("freezes", sum.stats.freezes);
    text.Line("merges", sum.stats.merges);
    if (service.merge_slots) {
      const MergeSlots::Usage merges = service.merge_slots->usage();
      text.Line("merges_at_once", service.merge_slots->limit());
      text.Line("merges_running", merges.running);
      text.Line("merges_waiting", merges.waiting);
      text.Line("merge_memory_estimate", merges.bytes);
    }
    text.Line("failed_compactions", sum.stats.failed_compactions);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (!shards[i].stats.last_failure.empty())
        text.Line(fmt::format("shard{}_last_failure", i), shards[i].stats.last_failure);
    }
  }
  if (text.Section("Stats")) {
    text.Line("total_connections_received", stats.connections);
    text.Line("total_commands_processed", stats.commands);
    text.Line("rejected_connections", stats.refused_connections);
    text.Line("protocol_errors", stats.protocol_errors);
    text.Line("total_error_replies", service.command_stats.total_errors());
    text.Line("total_net_input_bytes", stats.input_bytes);
    text.Line("total_net_output_bytes", stats.output_bytes);
    text.Line("requests_waiting", waiting);
  }
  if (text.Section("Replication")) text.Line("role", "master");
  if (text.Section("Commandstats", false)) TellCommands(service.command_stats, text);
  if (text.Section("Errorstats")) TellErrors(service.command_stats, text);
  if (text.Section("Latencystats", false)) TellLatencies(service.command_stats, text);
  if (text.Section("Shards")) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const ShardStatus& shard = shards[i];
      text.Line(fmt::format("shard{}", i),
                fmt::format("keys={},compressed_records={},compressed_bytes={},queue={},layers={},"
                            "layer_bytes={},next_layer_bytes={},filling={},freezes={},merges={}",
                            shard.keys, shard.compressed_records, shard.compressed_bytes,
                            service.shards[i]->queue().waiting(), shard.layers, shard.layer_bytes,
                            shard.next_layer_bytes, shard.filling ? 1 : 0, shard.stats.freezes,
                            shard.stats.merges));
    }
  }
  if (text.Section("Navigation")) {
    text.Line("layers_added", sum.added_layers);
    text.Line("layers_removed", sum.removed_layers);
    text.Line("no_budget", stats.no_budget);
    for (std::size_t i = 0; i < stats.decisions.size(); ++i)
      text.Line(fmt::format("decision{}", i), stats.decisions[i]);
  }
  if (text.Section("Keyspace") && sum.keys > 0)
    text.Line("db0", fmt::format("keys={},expires=0,avg_ttl=0", sum.keys));
  return text.Take();
}

std::vector<std::pair<std::string_view, std::string>> ConfigOf(const Service& service) {
  return {{"appendfsync", "always"},
          {"appendonly", "yes"},
          {"databases", "1"},
          {"max-batch-bytes", std::to_string(service.batch_limits.bytes)},
          {"max-batch-items", std::to_string(service.batch_limits.items)},
          {"max-request", std::to_string(service.command_limits.max_request)},
          {"max-value", std::to_string(service.command_limits.max_bulk)},
          {"maxmemory", std::to_string(service.memory_budget)},
          {"port", std::to_string(service.port)},
          {"proto-max-bulk-len", std::to_string(service.command_limits.max_bulk)},
          {"save", ""},
          {"shards", std::to_string(service.shards.size())}};
}

}  // namespace stout::blowfish
