#include "http/http_metrics.h"

#include <boost/json/array.hpp>

namespace stout::http {
namespace {

namespace json = boost::json;

constexpr Scalar<HttpSnapshot> kHttpScalars[] = {
    {"connections", kGauge, "Open connections", Get<&HttpSnapshot::connections>},
    {"connections_total", kCounter, "Connections accepted", Get<&HttpSnapshot::connections_total>},
    {"connections_refused_total", kCounter, "Connections refused beyond the maximum",
     Get<&HttpSnapshot::connections_refused>},
    {"body_bytes_in_flight", kGauge, "Bytes reserved for request bodies",
     Get<&HttpSnapshot::body_bytes_in_flight>},
    {"connections_waiting", kGauge, "Connections that wait for room for a request body",
     Get<&HttpSnapshot::connections_waiting>},
};

}  // namespace

void HttpMetrics::OnResponse(Method method, int status, Duration latency) {
  const std::lock_guard lock(mutex_);
  now_.requests[{method, status}].Record(latency);
}

void HttpMetrics::OnConnect() {
  const std::lock_guard lock(mutex_);
  ++now_.connections;
  ++now_.connections_total;
}

void HttpMetrics::OnDisconnect() {
  const std::lock_guard lock(mutex_);
  --now_.connections;
}

void HttpMetrics::OnRefuse() {
  const std::lock_guard lock(mutex_);
  ++now_.connections_refused;
}

HttpSnapshot HttpMetrics::Snapshot() const {
  const std::lock_guard lock(mutex_);
  HttpSnapshot snapshot = now_;
  if (bodies_) {
    snapshot.body_bytes_in_flight = bodies_->used();
    snapshot.connections_waiting = bodies_->waiting();
  }
  return snapshot;
}

void HttpMetrics::Watch(const BodyBudget& bodies) {
  const std::lock_guard lock(mutex_);
  bodies_ = bodies;
}

void AppendHttp(std::vector<MetricFamily>& families, const HttpSnapshot& http,
                const std::string& prefix) {
  AppendScalars(families, kHttpScalars, http, prefix);
  MetricFamily counts = Family(prefix + "requests_total", "Requests answered", kCounter);
  MetricFamily latency =
      Family(prefix + "request_seconds", "Time from request received to response ready",
             MetricType::Histogram);
  for (const auto& [key, histogram] : http.requests) {
    const Labels labels = {{"method", std::string(MethodName(key.first))},
                           {"status", std::to_string(key.second)}};
    counts.metric.push_back(ToMetric(static_cast<double>(histogram.count()), kCounter, labels));
    latency.metric.push_back(ToMetric(histogram, Unit::kNanoseconds, labels));
  }
  families.push_back(std::move(counts));
  families.push_back(std::move(latency));
}

json::object ToObject(const HttpSnapshot& http, const std::string& prefix) {
  json::object object = ToObject(kHttpScalars, http, prefix);
  json::array requests;
  for (const auto& [key, histogram] : http.requests) {
    requests.push_back({{"method", MethodName(key.first)},
                        {"status", key.second},
                        {prefix + "requests_total", histogram.count()},
                        {prefix + "request_seconds", ToObject(histogram, Unit::kNanoseconds)}});
  }
  object["requests"] = std::move(requests);
  return object;
}

}  // namespace stout::http
