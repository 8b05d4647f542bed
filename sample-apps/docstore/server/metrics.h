#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/message.h"
#include "stout/core/histogram.h"
#include "stout/core/stats.h"

namespace stout::docstore {

/// What one shard has done and holds.
struct ShardSnapshot {
  EngineStats engine;
  std::size_t cached_bytes = 0;
};

/// What the HTTP side has done and holds.
struct HttpSnapshot {
  /// Latency in nanoseconds, from the last byte of the request to the response being ready.
  std::map<std::pair<Method, int>, Histogram> requests;  ///< By method and status.
  std::size_t connections = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused = 0;
};

/// Counts requests and connections.   Threads: any.
class HttpMetrics {
 public:
  void OnResponse(Method method, int status, Duration latency);
  void OnConnect();
  void OnDisconnect();
  void OnRefuse();

  [[nodiscard]] HttpSnapshot Snapshot() const;

 private:
  mutable std::mutex mutex_;
  HttpSnapshot now_;
};

/// All figures in the Prometheus text format; names and units in the README.
[[nodiscard]] std::string ToPrometheus(const std::vector<ShardSnapshot>& shards,
                                       const HttpSnapshot& http);

/// The same figures as JSON: {"total": {...}, "shards": [{"lanes": [...]}], "http": {...}}, with
/// the same names; histograms as count, mean, quantiles and maximum.
[[nodiscard]] std::string ToJson(const std::vector<ShardSnapshot>& shards,
                                 const HttpSnapshot& http);

}  // namespace stout::docstore
