#include "server/metrics.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace stout::docstore {

std::string ToPrometheus(const std::vector<ShardSnapshot>& shards, const http::HttpSnapshot& http) {
  std::vector<http::MetricFamily> families;
  monitor::AppendEngines(families, shards);
  http::AppendHttp(families, http, "docstore_");
  return http::ToText(families);
}

std::string ToJson(const std::vector<ShardSnapshot>& shards, const http::HttpSnapshot& http) {
  boost::json::object all = monitor::ToObject(shards);
  all["http"] = http::ToObject(http, "docstore_");
  return boost::json::serialize(all) + '\n';
}

}  // namespace stout::docstore
