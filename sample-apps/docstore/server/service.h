#pragma once

#include <atomic>

#include "http/http_server.h"
#include "server/documents.h"
#include "server/metrics.h"

namespace stout::docstore {

/// The service behind each path: documents, and the pages for operators.
///
/// Owner: refers to documents and metrics, which outlive it.   Threads: any.
class Service final : public HttpHandler {
 public:
  Service(Documents& documents, HttpMetrics& metrics) : documents_(documents), metrics_(metrics) {}

  void Handle(Request request, Respond respond) override;

  /// From now on /healthz says 503: balancers shall send no more.
  void BeginDrain() { draining_ = true; }

 private:
  void Health(Respond respond);

  Documents& documents_;
  HttpMetrics& metrics_;
  std::atomic<bool> draining_ = false;
};

}  // namespace stout::docstore
