#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "http/http_metrics.h"
#include "router/retry.h"
#include "stout/core/lease_table.h"

namespace stout::docstore {

/// Counters and gauges of the router, in addition to those of every HTTP server.
struct RouterSnapshot {
  std::array<std::uint64_t, kFates> attempts{};  ///< By Fate.
  std::uint64_t retries = 0;
  std::size_t idle_connections = 0;
  std::size_t members = 0;
  std::size_t owned_ranges = 0;
};

/// Counts what becomes of attempts.   Threads: any.
class RouterMetrics {
 public:
  void OnAttempt(Fate fate) { ++attempts_[static_cast<std::size_t>(fate)]; }
  void OnRetry() { ++retries_; }

  /// Without what others know.
  [[nodiscard]] RouterSnapshot Snapshot() const;

 private:
  std::array<std::atomic<std::uint64_t>, kFates> attempts_{};
  std::atomic<std::uint64_t> retries_ = 0;
};

/// All figures in the Prometheus text format; names in the README.
[[nodiscard]] std::string ToPrometheus(const RouterSnapshot& router,
                                       const http::HttpSnapshot& http);

/// The same figures as JSON: {"router": {...}, "ranges": [{"owner", "epoch"}], "http": {...}}.
[[nodiscard]] std::string ToJson(const RouterSnapshot& router, const LeaseTable& leases,
                                 const http::HttpSnapshot& http);

}  // namespace stout::docstore
