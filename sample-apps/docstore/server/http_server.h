#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http_options.h"
#include "server/message.h"
#include "server/metrics.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::docstore {

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
             const HttpOptions& options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Binds and begins to accept. `port` 0 takes a free one. Answers the port, or an error code of
  /// the system.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port);

  /// Accepts no more connections, answers every request that it has read, tells later ones 503,
  /// closes each connection after its last answer, and completes when none is left.
  void Drain(UniqueFunction<void()> done);

  /// Cuts all connections now.
  void Close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stout::docstore
