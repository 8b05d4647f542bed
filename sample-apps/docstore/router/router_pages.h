#pragma once

#include <atomic>

#include "http/http_metrics.h"
#include "http/message.h"
#include "http/page_limit.h"
#include "protocol/route.h"
#include "router/owners.h"
#include "router/router_metrics.h"
#include "router/upstream_pool.h"

namespace stout::docstore {

/// The pages for operators of the router: /healthz, /metrics, /stats.
///
/// Owner: refers to the objects that it shows, which outlive it.   Threads: any.
class RouterPages {
 public:
  RouterPages(const Owners& owners, const UpstreamPool& pool, const http::HttpMetrics& http,
              const RouterMetrics& metrics)
      : owners_(owners), pool_(pool), http_(http), metrics_(metrics) {}

  [[nodiscard]] http::Response Show(Route::Resource page) const;

  /// From now on /healthz says 503: balancers shall send no more.
  void BeginDrain() { draining_ = true; }

 private:
  [[nodiscard]] http::Response ShowFigures(Route::Resource page) const;
  [[nodiscard]] http::Response Health() const;
  [[nodiscard]] RouterSnapshot Snapshot() const;

  const Owners& owners_;
  const UpstreamPool& pool_;
  const http::HttpMetrics& http_;
  const RouterMetrics& metrics_;
  const http::PageLimit limit_;
  std::atomic<bool> draining_ = false;
};

}  // namespace stout::docstore
