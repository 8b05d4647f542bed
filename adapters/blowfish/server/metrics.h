#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>

#include "blowfish/server/service.h"
#include "http/http_server.h"
#include "program/address.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Serves the figures at /metrics, as Prometheus asks for them.
///
/// Owner: refers to context and service, which outlive it. Destroy it while the context does not
///   run.
/// Threads: the one that runs `context` and serves the connections.
class MetricsServer final : public http::HttpHandler {
 public:
  MetricsServer(boost::asio::io_context& context, const Service& service);

  /// As http::HttpServer::Listen.
  Result<std::uint16_t> Listen(const program::Address& address) {
    return server_.Listen(address.host, address.port);
  }

 private:
  void Handle(http::Request request, http::Respond respond) override;

  const Service& service_;
  http::HttpMetrics http_;
  http::HttpServer server_;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace stout::blowfish
