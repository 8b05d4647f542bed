#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/http_server.h"
#include "http/page_limit.h"
#include "monitor/history.h"
#include "monitor/tenant_metrics.h"
#include "protocol/route.h"
#include "server/documents.h"
#include "server/metrics.h"
#include "stout/store.h"
#include "stout/tenants.h"

namespace stout::docstore {

/// The service behind each path: documents, and the pages for operators.
///
/// Owner: refers to its arguments, which outlive it.   Threads: any.
class Service final : public http::HttpHandler {
 public:
  /// `tenants`, `store`: null if there are none.
  Service(Documents& documents, http::HttpMetrics& metrics, const monitor::HistoryRecorder& history,
          std::shared_ptr<Tenants> tenants, const Store* store)
      : documents_(documents),
        metrics_(metrics),
        history_(history),
        tenants_(std::move(tenants)),
        store_(store) {}

  void Handle(http::Request request, http::Respond respond) override;

  /// The tenants' use of the shards' caches and of that of the store.
  [[nodiscard]] std::vector<monitor::TenantSnapshot> TenantsOf(
      const std::vector<ShardSnapshot>& shards) const;

  /// From now on /healthz says 503: balancers shall send no more.
  void BeginDrain() { draining_ = true; }

 private:
  void ShowPage(const Route& route, const std::string& target, http::Respond respond);
  void HandleDocument(const Route& route, http::Request request, http::Respond respond);
  void Health(http::Respond respond);

  Documents& documents_;
  http::HttpMetrics& metrics_;
  const monitor::HistoryRecorder& history_;
  const std::shared_ptr<Tenants> tenants_;
  const Store* const store_;
  std::atomic<bool> draining_ = false;
  const http::PageLimit pages_;
};

}  // namespace stout::docstore
