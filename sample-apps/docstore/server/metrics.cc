#include "server/metrics.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace stout::docstore {
namespace {

constexpr const char* kPrefix = "docstore_";

}  // namespace

std::string ToPrometheus(const std::vector<ShardSnapshot>& shards,
                         const std::vector<monitor::TenantSnapshot>& tenants,
                         const http::HttpSnapshot& http) {
  std::vector<http::MetricFamily> families;
  monitor::AppendEngines(families, shards);
  monitor::AppendTenants(families, tenants, kPrefix);
  http::AppendHttp(families, http, kPrefix);
  return http::ToText(families);
}

std::string ToJson(const std::vector<ShardSnapshot>& shards,
                   const std::vector<monitor::TenantSnapshot>& tenants,
                   const http::HttpSnapshot& http) {
  boost::json::object all = monitor::ToObject(shards);
  if (!tenants.empty()) all["tenants"] = monitor::ToArray(tenants, kPrefix);
  all["http"] = http::ToObject(http, kPrefix);
  return boost::json::serialize(all) + '\n';
}

}  // namespace stout::docstore
