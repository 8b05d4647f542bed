#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/body_budget.h"
#include "http/figures.h"
#include "http/message.h"
#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::http {

/// The counters and the current state of an HTTP server.
struct HttpSnapshot {
  /// Latency in nanoseconds, from the last byte of the request to the response being ready.
  std::map<std::pair<Method, int>, Histogram> requests;  ///< by method and status
  std::size_t connections = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused = 0;
  std::size_t body_bytes_in_flight = 0;
  std::size_t connections_waiting = 0;  ///< connections that wait for room for a body
};

/// Counts requests and connections.   Threads: any.
class HttpMetrics {
 public:
  void OnResponse(Method method, int status, Duration latency);
  void OnConnect();
  void OnDisconnect();
  void OnRefuse();
  /// Includes this budget in the snapshots.
  void Watch(const BodyBudget& bodies);

  [[nodiscard]] HttpSnapshot Snapshot() const;

 private:
  mutable std::mutex mutex_;
  HttpSnapshot now_;
  std::optional<BodyBudget> bodies_;
};

/// `prefix` precedes every name. It belongs to the program, for example "docstore_".
void AppendHttp(std::vector<MetricFamily>& families, const HttpSnapshot& http,
                const std::string& prefix);
[[nodiscard]] boost::json::object ToObject(const HttpSnapshot& http, const std::string& prefix);

}  // namespace stout::http
