#include "metrics.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace stout::blowfish {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// How long a server that is busy, or ends, is waited for.
constexpr auto kPatience = std::chrono::seconds(2);

class Families {
 public:
  void Total(const std::string& name, const std::string& help, std::uint64_t value) {
    Add(name, help, MetricType::Counter, {}, static_cast<double>(value));
  }
  void Gauge(const std::string& name, const std::string& help, double value) {
    Add(name, help, MetricType::Gauge, {}, value);
  }
  // One of each shard.
  template <typename Value>
  void ByShard(const std::string& name, const std::string& help, MetricType type,
               const Service& service, Value value) {
    MetricFamily family{.name = "blowfish_shard_" + name, .help = help, .type = type};
    for (std::size_t i = 0; i < service.shards.size(); ++i) {
      prometheus::ClientMetric metric;
      metric.label = {{"shard", std::to_string(i)}};
      const auto number = static_cast<double>(value(*service.shards[i]));
      (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = number;
      family.metric.push_back(std::move(metric));
    }
    families_.push_back(std::move(family));
  }
  [[nodiscard]] std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  void Add(const std::string& name, const std::string& help, MetricType type,
           std::vector<prometheus::ClientMetric::Label> labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families_.push_back(
        {.name = "blowfish_" + name, .help = help, .type = type, .metric = {std::move(metric)}});
  }

  std::vector<MetricFamily> families_;
};

std::vector<MetricFamily> CollectNow(const Service& service) {
  Families families;
  const ServiceStats& stats = service.stats;
  families.Gauge("clients", "Connections", static_cast<double>(service.sessions.size()));
  families.Total("connections_total", "Connections that were taken", stats.connections);
  families.Total("connections_refused_total", "Connections beyond --max-clients",
                 stats.refused_connections);
  families.Total("commands_total", "Commands", stats.commands);
  families.Total("protocol_errors_total", "Connections that did not speak RESP",
                 stats.protocol_errors);
  families.Total("slow_readers_total", "Connections closed because the client took no replies",
                 stats.slow_readers);
  families.Total("input_bytes_total", "Bytes from clients", stats.input_bytes);
  families.Total("output_bytes_total", "Bytes to clients", stats.output_bytes);
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  for (const auto& shard : service.shards) {
    added += shard->status().added_layers;
    removed += shard->status().removed_layers;
  }
  families.Total("layers_added_total", "Layers that the navigation added", added);
  families.Total("layers_removed_total", "Layers that the navigation removed", removed);
  families.Total("no_budget_total", "Times that a shard needed a layer and there was no memory",
                 stats.no_budget);
  if (service.merge_slots) {
    const MergeSlots::Usage merges = service.merge_slots->usage();
    families.Gauge("merges_running", "Merges under way", static_cast<double>(merges.running));
    families.Gauge("merges_waiting", "Shards that wait to merge",
                   static_cast<double>(merges.waiting));
    families.Gauge("merge_memory_estimate_bytes", "Estimated memory of the merges under way",
                   static_cast<double>(merges.bytes));
  }

  const auto gauge = [&](const std::string& name, const std::string& help, auto member) {
    families.ByShard(name, help, MetricType::Gauge, service,
                     [member](const ShardWorker& shard) { return shard.status().*member; });
  };
  const auto total = [&](const std::string& name, const std::string& help, auto member) {
    families.ByShard(name, help, MetricType::Counter, service,
                     [member](const ShardWorker& shard) { return shard.status().stats.*member; });
  };
  families.ByShard("queue", "Requests that wait, or are under way", MetricType::Gauge, service,
                   [](const ShardWorker& shard) { return shard.queue().waiting(); });
  families.ByShard(
      "busy_seconds_total", "Time spent for clients", MetricType::Counter, service,
      [](const ShardWorker& shard) { return std::chrono::duration<double>(shard.busy()).count(); });
  families.ByShard("read_seconds_total", "Time spent on reads that layers make faster",
                   MetricType::Counter, service, [](const ShardWorker& shard) {
                     return std::chrono::duration<double>(shard.read_time().Ended()).count();
                   });
  gauge("keys", "Keys", &ShardStatus::keys);
  gauge("compressed_records", "Records in the compressed file", &ShardStatus::compressed_records);
  gauge("compressed_bytes", "Size of the compressed file", &ShardStatus::compressed_bytes);
  gauge("layers", "Layers", &ShardStatus::layers);
  gauge("layer_bytes", "Memory of the layers", &ShardStatus::layer_bytes);
  total("freezes_total", "Log tables that were frozen", &ShardStats::freezes);
  total("merges_total", "Merges into the compressed file", &ShardStats::merges);
  total("failed_compactions_total", "Freezes and merges that failed",
        &ShardStats::failed_compactions);
  return families.Take();
}

}  // namespace

std::vector<MetricFamily> Metrics::Collect() const {
  // Shared: the server may get to it only after this has given up.
  const auto promise = std::make_shared<std::promise<std::vector<MetricFamily>>>();
  boost::asio::post(context_, [this, promise] { promise->set_value(CollectNow(service_)); });
  auto collected = promise->get_future();
  if (collected.wait_for(kPatience) != std::future_status::ready) return {};
  return collected.get();
}

}  // namespace stout::blowfish
