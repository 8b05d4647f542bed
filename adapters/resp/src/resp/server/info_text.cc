#include "resp/server/info_text.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "resp/server/process_usage.h"
#include "stout/clock.h"
#include "stout/version.h"

namespace stout::resp {
namespace {

void TellCommands(const CommandStats& stats, InfoText& text) {
  for (const Command& command : stats.table().rows()) {
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

void TellErrors(const CommandStats& stats, InfoText& text) {
  for (const auto& [code, count] : stats.errors()) {
    text.Line(fmt::format("errorstat_{}", code), fmt::format("count={}", count));
  }
}

void TellLatencies(const CommandStats& stats, InfoText& text) {
  for (const Command& command : stats.table().rows()) {
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

void DescribeServer(const Service& service, std::string_view version_name, InfoText& text) {
  if (text.Section("Server")) {
    text.Line("redis_version", kRedisVersion);
    text.Line("redis_mode", service.mode);
    text.Line(version_name, STOUT_VERSION);
    text.Line("process_id", ::getpid());
    text.Line("tcp_port", service.port);
    text.Line(
        "uptime_in_seconds",
        std::chrono::duration_cast<std::chrono::seconds>(SteadyNow() - service.started).count());
  }
  if (text.Section("Clients")) {
    text.Line("connected_clients", service.clients);
    text.Line("maxclients", service.limits.max_clients);
    text.Line("slow_readers_cut_off", service.connection_stats.slow_readers);
  }
}

bool DescribeMemory(std::uint64_t max_bytes, InfoText& text) {
  if (!text.Section("Memory")) return false;
  const std::uint64_t resident = ProcessUsage::Now().resident_bytes;
  text.Line("used_memory", resident);
  text.Line("used_memory_rss", resident);
  text.Line("maxmemory", max_bytes);
  return true;
}

void DescribeCpu(InfoText& text) {
  if (!text.Section("CPU")) return;
  const ProcessUsage usage = ProcessUsage::Now();
  text.Line("used_cpu_sys", fmt::format("{:.6f}", usage.system_seconds));
  text.Line("used_cpu_user", fmt::format("{:.6f}", usage.user_seconds));
}

void DescribeReplication(const Service& service, InfoText& text) {
  if (text.Section("Replication")) {
    text.Line("role", "master");
    text.Line("connected_slaves", 0);
  }
  if (text.Section("Cluster")) text.Line("cluster_enabled", service.mode == "cluster" ? 1 : 0);
}

void DescribeKeyspace(std::uint64_t keys, InfoText& text) {
  if (text.Section("Keyspace") && keys > 0)
    text.Line("db0", fmt::format("keys={},expires=0,avg_ttl=0", keys));
}

bool DescribeStats(const Service& service, InfoText& text) {
  if (!text.Section("Stats")) return false;
  const ConnectionStats& stats = service.connection_stats;
  text.Line("total_connections_received", stats.connections);
  text.Line("total_commands_processed", stats.commands);
  text.Line("rejected_connections", stats.refused_connections);
  text.Line("protocol_errors", stats.protocol_errors);
  text.Line("total_error_replies", service.command_stats.total_errors());
  text.Line("total_net_input_bytes", stats.input_bytes);
  text.Line("total_net_output_bytes", stats.output_bytes);
  return true;
}

void DescribeCommands(const CommandStats& stats, InfoText& text) {
  if (text.Section("Commandstats", false)) TellCommands(stats, text);
  if (text.Section("Errorstats")) TellErrors(stats, text);
  if (text.Section("Latencystats", false)) TellLatencies(stats, text);
}

}  // namespace stout::resp
