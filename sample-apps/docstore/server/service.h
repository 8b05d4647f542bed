#pragma once

#include <atomic>

#include "http/http_server.h"
#include "monitor/history.h"
#include "server/documents.h"
#include "server/metrics.h"

namespace stout::docstore {

/// The service behind each path: documents, and the pages for operators.
///
/// Owner: refers to its arguments, which outlive it.   Threads: any.
class Service final : public http::HttpHandler {
 public:
  Service(Documents& documents, http::HttpMetrics& metrics, const monitor::HistoryRecorder& history)
      : documents_(documents), metrics_(metrics), history_(history) {}

  void Handle(http::Request request, http::Respond respond) override;

  /// From now on /healthz says 503: balancers shall send no more.
  void BeginDrain() { draining_ = true; }

 private:
  void Health(http::Respond respond);

  Documents& documents_;
  http::HttpMetrics& metrics_;
  const monitor::HistoryRecorder& history_;
  std::atomic<bool> draining_ = false;
};

}  // namespace stout::docstore
