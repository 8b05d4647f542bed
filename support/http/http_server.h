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

/// What an HTTP server serves.
class HttpHandler {
 public:
  /// Answers once, at any time, from any thread. Many run at once, also of one connection.
  virtual void Handle(Request request, Respond respond) = 0;

 protected:
  ~HttpHandler() = default;
};

/// An HTTP/1.1 server with keep-alive and pipelining: the requests of a connection are given to the
/// handler at once, in their order, and answered in their order, whichever is done first.
///
/// Owner: refers to handler and metrics, which outlive the run() of `context`.
/// Threads: all members may be called from any thread.
class HttpServer {
 public:
  HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options)
      : HttpServer(context, handler, metrics, options,
                   BodyBudget(options.max_body_bytes_in_flight)) {}

  /// As Listener::Listen.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    return listener_.Listen(host, port);
  }

  /// Accepts no more connections, answers every request that it has read, tells later ones 503,
  /// closes each connection after its last answer, and completes when none is left.
  void Drain(UniqueFunction<void()> done) { listener_.Drain(std::move(done)); }

  /// Cuts all connections now.
  void Close() { listener_.Close(); }

 private:
  HttpServer(boost::asio::io_context& context, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options, const BodyBudget& bodies);

  Listener listener_;
};

}  // namespace stout::http
