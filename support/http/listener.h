#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/http_metrics.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::http {

using SessionStrand = boost::asio::strand<boost::asio::io_context::executor_type>;
using SessionSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, SessionStrand>;

/// Serves one accepted connection.
///
/// Owner: itself, through its pending operations, and the listener until it has ended.
/// Threads: its members are called from any thread; it works on its socket's strand.
class Session {
 public:
  virtual ~Session() = default;

  /// Begins to serve. Call it first.
  virtual void Start() = 0;
  /// Answers 503 and ends. Call it instead of Start.
  virtual void Refuse() = 0;
  /// Answers the requests that were read, and ends.
  virtual void Drain() = 0;
  /// Closes the connection at once.
  virtual void Abort() = 0;
};

/// Accepts connections, limits their number, and drains or aborts all of them at the end.
///
/// Owner: refers to metrics and to the objects that `make` refers to. All of them outlive the run()
///   of `context`.
/// Threads: all members may be called from any thread.
class Listener {
 public:
  /// Makes the session of a connection. The session calls `on_end` once, after the connection has
  /// ended and its requests are served.
  using Make =
      std::function<std::shared_ptr<Session>(SessionSocket, UniqueFunction<void()> on_end)>;

  /// If there are `max_sessions` already, a further session is refused.
  Listener(boost::asio::io_context& context, HttpMetrics& metrics, std::size_t max_sessions,
           Make make);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Binds and begins to accept. Port 0 selects a free port. Returns the port, or an error code of
  /// the system.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port);

  /// Accepts no more connections, drains every session, and calls `done` when none is left.
  void Drain(UniqueFunction<void()> done);

  /// Accepts no more connections, and aborts all sessions at once.
  void Close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stout::http
