#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "http/body_budget.h"
#include "http/http_metrics.h"
#include "http/http_options.h"
#include "http/listener.h"
#include "http/message.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::http {

/// Answers the requests that an HTTP server receives.
class HttpHandler {
 public:
  /// Calls `respond` once, at any time, from any thread. Requests overlap, also those of one
  /// connection.
  virtual void Handle(Request request, Respond respond) = 0;

 protected:
  ~HttpHandler() = default;
};

/// An HTTP/1.1 server with keep-alive and pipelining. The handler gets the requests of a connection
/// in their order, without waiting for earlier answers. The server sends the answers in the same
/// order, even if a later one is ready first.
///
/// Owner: refers to handler and metrics, which outlive the run() of `context`.
/// Threads: all members may be called from any thread.
class HttpServer {
 public:
  HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options)
      : HttpServer(context, handler, metrics, options,
                   BodyBudget(options.max_body_bytes_in_flight)) {}

  /// See Listener::Listen.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    return listener_.Listen(host, port);
  }

  /// Accepts no more connections. Answers every request that was read, and later requests with 503.
  /// Closes each connection after its last answer. Calls `done` when no connection is left.
  void Drain(UniqueFunction<void()> done) { listener_.Drain(std::move(done)); }

  /// Closes all connections at once.
  void Close() { listener_.Close(); }

 private:
  HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options, const BodyBudget& bodies);

  Listener listener_;
};

}  // namespace stout::http
