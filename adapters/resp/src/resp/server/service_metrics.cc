#include "resp/server/service_metrics.h"

#include <utility>

namespace stout::resp {
namespace {

namespace json = boost::json;
using http::Family;
using http::kCounter;
using http::kGauge;
using http::Labels;
using http::MetricFamily;
using http::MetricType;
using http::Scalar;
using http::ToMetric;
using http::Unit;
using Counts = ServiceSnapshot::Counts;

template <auto Member>
double Get(const ServiceSnapshot& service) {
  return static_cast<double>(service.connections.*Member);
}

constexpr Scalar<ServiceSnapshot> kScalars[] = {
    {"clients", kGauge, "Connections",
     [](const ServiceSnapshot& service) { return static_cast<double>(service.clients); }},
    {"connections_total", kCounter, "Connections that were taken",
     Get<&ConnectionStats::connections>},
    {"connections_refused_total", kCounter, "Connections beyond --max-clients",
     Get<&ConnectionStats::refused_connections>},
    {"commands_total", kCounter, "Commands", Get<&ConnectionStats::commands>},
    {"protocol_errors_total", kCounter, "Connections that did not speak RESP",
     Get<&ConnectionStats::protocol_errors>},
    {"slow_readers_total", kCounter, "Connections closed because the client took no replies",
     Get<&ConnectionStats::slow_readers>},
    {"input_bytes_total", kCounter, "Bytes from clients", Get<&ConnectionStats::input_bytes>},
    {"output_bytes_total", kCounter, "Bytes to clients", Get<&ConnectionStats::output_bytes>},
};

constexpr Scalar<Counts> kCounts[] = {
    {"command_rejected_total", kCounter, "Commands with wrong arity, or without AUTH",
     [](const Counts& counts) { return static_cast<double>(counts.rejected); }},
    {"command_failed_total", kCounter, "Commands whose reply was an error",
     [](const Counts& counts) { return static_cast<double>(counts.failed); }},
};
constexpr const char* kLatency = "command_seconds";
constexpr const char* kErrors = "errors_total";

}  // namespace

ServiceSnapshot SnapshotOf(const Service& service) {
  const CommandStats& stats = service.command_stats;
  ServiceSnapshot snapshot{service.connection_stats, service.sessions.size(), {}, stats.errors()};
  for (const Command& command : stats.table().rows()) {
    const CommandStats::Counts& counts = stats.of(command);
    if (counts.calls() == 0 && counts.rejected == 0) continue;
    snapshot.commands.push_back({command.name, counts.latency ? *counts.latency : Histogram(),
                                 counts.rejected, counts.failed});
  }
  return snapshot;
}

void AppendService(std::vector<MetricFamily>& families, const ServiceSnapshot& service,
                   const std::string& prefix) {
  http::AppendScalars(families, kScalars, service, prefix);
  const auto label = [](const Counts& counts) {
    return Labels{{"command", std::string(counts.command)}};
  };
  MetricFamily latency =
      Family(prefix + kLatency, "Time from a command being taken to its reply being ready",
             MetricType::Histogram);
  for (const Counts& counts : service.commands)
    latency.metric.push_back(ToMetric(counts.latency, Unit::kNanoseconds, label(counts)));
  families.push_back(std::move(latency));
  for (const auto& [name, type, help, get] : kCounts) {
    MetricFamily family = Family(prefix + name, help, type);
    for (const Counts& counts : service.commands)
      family.metric.push_back(ToMetric(get(counts), type, label(counts)));
    families.push_back(std::move(family));
  }
  MetricFamily errors =
      Family(prefix + kErrors, "Replies that were errors, by their first word", kCounter);
  for (const auto& [code, count] : service.errors)
    errors.metric.push_back(ToMetric(static_cast<double>(count), kCounter, {{"error", code}}));
  families.push_back(std::move(errors));
}

json::object ToObject(const ServiceSnapshot& service, const std::string& prefix) {
  json::object object = http::ToObject(kScalars, service, prefix);
  json::object commands;
  for (const Counts& counts : service.commands) {
    json::object command = http::ToObject(kCounts, counts, prefix);
    command[prefix + kLatency] = http::ToObject(counts.latency, Unit::kNanoseconds);
    commands[counts.command] = std::move(command);
  }
  object["commands"] = std::move(commands);
  json::object errors;
  for (const auto& [code, count] : service.errors) errors[code] = count;
  object[prefix + kErrors] = std::move(errors);
  return object;
}

}  // namespace stout::resp
