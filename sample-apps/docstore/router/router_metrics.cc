#include "router/router_metrics.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace stout::docstore {
namespace {

namespace json = boost::json;
using http::Family;
using http::Get;
using http::kCounter;
using http::kGauge;
using http::MetricFamily;
using http::Scalar;
using http::ToMetric;
using http::ToObject;

constexpr std::array<const char*, kFates> kFateNames = {"not_sent", "not_done", "lost", "timed_out",
                                                        "answered"};

constexpr Scalar<RouterSnapshot> kScalars[] = {
    {"docstore_router_retries_total", kCounter, "Attempts after the first of their requests",
     Get<&RouterSnapshot::retries>},
    {"docstore_router_idle_connections", kGauge, "Connections to servers that wait for requests",
     Get<&RouterSnapshot::idle_connections>},
    {"docstore_router_members", kGauge, "Servers that hold a live lease",
     Get<&RouterSnapshot::members>},
    {"docstore_router_owned_ranges", kGauge, "Ranges of documents that have an owner",
     Get<&RouterSnapshot::owned_ranges>},
};
constexpr const char* kAttempts = "docstore_router_attempts_total";

}  // namespace

RouterSnapshot RouterMetrics::Snapshot() const {
  RouterSnapshot snapshot;
  for (std::size_t i = 0; i < attempts_.size(); ++i) snapshot.attempts[i] = attempts_[i];
  snapshot.retries = retries_;
  return snapshot;
}

std::string ToPrometheus(const RouterSnapshot& router, const http::HttpSnapshot& http) {
  std::vector<MetricFamily> families;
  MetricFamily attempts =
      Family(kAttempts, "Attempts to have a request served, by outcome", kCounter);
  for (std::size_t i = 0; i < kFateNames.size(); ++i) {
    attempts.metric.push_back(
        ToMetric(static_cast<double>(router.attempts[i]), kCounter, {{"fate", kFateNames[i]}}));
  }
  families.push_back(std::move(attempts));
  http::AppendScalars(families, kScalars, router);
  http::AppendHttp(families, http, "docstore_");
  return http::ToText(families);
}

std::string ToJson(const RouterSnapshot& router, const LeaseTable& leases,
                   const http::HttpSnapshot& http) {
  json::object figures = ToObject(kScalars, router);
  json::object attempts;
  for (std::size_t i = 0; i < kFateNames.size(); ++i) attempts[kFateNames[i]] = router.attempts[i];
  figures[kAttempts] = std::move(attempts);
  json::array ranges;
  for (const std::optional<Lease>& lease : leases.ranges) {
    json::object range;
    if (lease) range = {{"owner", lease->address}, {"epoch", lease->epoch}};
    ranges.push_back(std::move(range));
  }
  const json::object all = {{"router", std::move(figures)},
                            {"ranges", std::move(ranges)},
                            {"http", ToObject(http, "docstore_")}};
  return json::serialize(all) + '\n';
}

}  // namespace stout::docstore
