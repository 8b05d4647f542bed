#include "blowfish/server/metrics.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/figures.h"
#include "resp/server/service_metrics.h"
#include "stout/core/histogram.h"

namespace stout::blowfish {
namespace {

using http::kCounter;
using http::kGauge;
using http::MetricFamily;
using http::MetricType;

class Families {
 public:
  explicit Families(const Service& service) {
    resp::AppendService(families_, resp::SnapshotOf(service), "blowfish_");
  }
  void Total(const std::string& name, const std::string& help, std::uint64_t value) {
    Add(name, help, kCounter, static_cast<double>(value));
  }
  void Gauge(const std::string& name, const std::string& help, double value) {
    Add(name, help, kGauge, value);
  }
  // One of each shard that serves.
  template <typename Value>
  void ByShard(const std::string& name, const std::string& help, MetricType type,
               const Service& service, Value value) {
    MetricFamily family = http::Family("blowfish_shard_" + name, help, type);
    for (std::size_t i = 0; i < service.shards.size(); ++i) {
      if (service.shards[i]->down()) continue;
      const auto number = static_cast<double>(value(*service.shards[i]));
      family.metric.push_back(http::ToMetric(number, type, {{"shard", std::to_string(i)}}));
    }
    families_.push_back(std::move(family));
  }
  void Up(const Service& service) {
    MetricFamily family =
        http::Family("blowfish_shard_up", "1 if the shard serves, 0 if it is down", kGauge);
    for (std::size_t i = 0; i < service.shards.size(); ++i) {
      const double up = service.shards[i]->down() ? 0 : 1;
      family.metric.push_back(http::ToMetric(up, kGauge, {{"shard", std::to_string(i)}}));
    }
    families_.push_back(std::move(family));
  }
  [[nodiscard]] std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  void Add(const std::string& name, const std::string& help, MetricType type, double value) {
    families_.push_back(http::Family("blowfish_" + name, help, type));
    families_.back().metric.push_back(http::ToMetric(value, type, {}));
  }

  std::vector<MetricFamily> families_;
};

std::vector<MetricFamily> Collect(const Service& service) {
  Families families(service);
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  for (const auto& shard : service.shards) {
    added += shard->status().added_layers;
    removed += shard->status().removed_layers;
  }
  families.Total("layers_added_total", "Layers that the navigation added", added);
  families.Total("layers_removed_total", "Layers that the navigation removed", removed);
  families.Total("no_budget_total", "Times that a shard needed a layer and there was no memory",
                 service.navigation.no_budget);
  if (service.merge_slots) {
    const MergeSlots::Usage merges = service.merge_slots->usage();
    families.Gauge("merges_running", "Merges under way", static_cast<double>(merges.running));
    families.Gauge("merges_waiting", "Shards that wait to merge",
                   static_cast<double>(merges.waiting));
    families.Gauge("merge_memory_estimate_bytes", "Estimated memory of the merges under way",
                   static_cast<double>(merges.bytes));
  }

  const auto gauge = [&](const std::string& name, const std::string& help, auto member) {
    families.ByShard(name, help, kGauge, service,
                     [member](const ShardWorker& shard) { return shard.status().*member; });
  };
  const auto total = [&](const std::string& name, const std::string& help, auto member) {
    families.ByShard(name, help, kCounter, service,
                     [member](const ShardWorker& shard) { return shard.status().stats.*member; });
  };
  families.Up(service);
  families.ByShard("queue", "Requests that wait, or are under way", kGauge, service,
                   [](const ShardWorker& shard) { return shard.queue().waiting(); });
  families.ByShard(
      "busy_seconds_total", "Time spent for clients", kCounter, service,
      [](const ShardWorker& shard) { return std::chrono::duration<double>(shard.busy()).count(); });
  families.ByShard("read_seconds_total", "Time spent on reads that layers make faster", kCounter,
                   service, [](const ShardWorker& shard) {
                     return std::chrono::duration<double>(shard.read_time().Ended()).count();
                   });
  gauge("keys", "Keys", &ShardStatus::keys);
  gauge("compressed_files", "Compressed files", &ShardStatus::compressed_files);
  gauge("compressed_records", "Records in the compressed files", &ShardStatus::compressed_records);
  gauge("compressed_bytes", "Size of the compressed files", &ShardStatus::compressed_bytes);
  gauge("layers", "Layers", &ShardStatus::layers);
  gauge("layer_bytes", "Memory of the layers", &ShardStatus::layer_bytes);
  total("freezes_total", "Log tables that were frozen", &ShardStats::freezes);
  total("merges_total", "Merges into compressed files", &ShardStats::merges);
  total("failed_compactions_total", "Freezes and merges that failed",
        &ShardStats::failed_compactions);
  return families.Take();
}

// The scrapes under the names that they had before support/http served them, for dashboards.
void AppendScrapes(std::vector<MetricFamily>& families, const http::HttpSnapshot& http,
                   std::uint64_t bytes) {
  const auto add = [&](const char* name, const char* help, MetricType type,
                       http::ClientMetric metric) {
    families.push_back(http::Family(name, help, type));
    families.back().metric.push_back(std::move(metric));
  };
  const auto found = http.requests.find({http::Method::kGet, 200});
  const Histogram latency = found == http.requests.end() ? Histogram() : found->second;
  add("exposer_transferred_bytes_total", "Bytes of the answers to scrapes", kCounter,
      http::ToMetric(static_cast<double>(bytes), kCounter, {}));
  add("exposer_scrapes_total", "Scrapes", kCounter,
      http::ToMetric(static_cast<double>(latency.count()), kCounter, {}));
  constexpr double kNanosPerMicro = 1000;
  http::ClientMetric summary;
  summary.summary.sample_count = latency.count();
  summary.summary.sample_sum = latency.sum() / kNanosPerMicro;
  for (const double q : {.5, .9, .99}) {
    summary.summary.quantile.push_back(
        {q, static_cast<double>(latency.Quantile(q)) / kNanosPerMicro});
  }
  add("exposer_request_latencies", "Latency of scrapes, in microseconds", MetricType::Summary,
      std::move(summary));
}

}  // namespace

MetricsServer::MetricsServer(boost::asio::io_context& context, const Service& service)
    : service_(service), server_(context, *this, http_, http::kOperatorLimits) {}

void MetricsServer::Handle(http::Request request, http::Respond respond) {
  const std::string_view path = http::PathOf(request.target);
  if (path != "/metrics" && !path.starts_with("/metrics/")) {
    return respond(http::MakeError(404, "there is no such path", "use /metrics"));
  }
  if (request.method != http::Method::kGet && request.method != http::Method::kHead) {
    return respond(http::MakeMethodError("GET, HEAD"));
  }
  std::vector<MetricFamily> families = Collect(service_);
  const http::HttpSnapshot http = http_.Snapshot();
  http::AppendHttp(families, http, "blowfish_http_");
  AppendScrapes(families, http, sent_bytes_);
  http::Response response = http::MakePrometheus(http::ToText(families));
  sent_bytes_ += response.body->size();
  respond(std::move(response));
}

}  // namespace stout::blowfish
