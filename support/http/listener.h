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

/// What becomes of one accepted connection.
///
/// Owner: itself, through its pending operations, and the listener until it has ended.
/// Threads: its members are called from any thread; it works on its socket's strand.
class Session {
 public:
  virtual ~Session() = default;

  /// Begins to serve. The first call.
  virtual void Start() = 0;
  /// Says 503 and ends. Instead of Start.
  virtual void Refuse() = 0;
  /// Answers what it has read, and ends.
  virtual void Drain() = 0;
  /// Cuts the connection.
  virtual void Abort() = 0;
};

/// Accepts connections and keeps track of them: not too many at once, none left behind.
///
/// Owner: refers to metrics, which outlives the run() of `context`, and so does what `make` refers
///   to.
/// Threads: all members may be called from any thread.
class Listener {
 public:
  /// Makes the session of a connection, which calls `on_end` once, when it has ended and its
  /// requests are served.
  using Make =
      std::function<std::shared_ptr<Session>(SessionSocket, UniqueFunction<void()> on_end)>;

  /// Sessions beyond `max_sessions` are refused.
  Listener(boost::asio::io_context& context, HttpMetrics& metrics, std::size_t max_sessions,
           Make make);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Binds and begins to accept. `port` 0 takes a free one. Answers the port, or an error code of
  /// the system.
  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port);

  /// Accepts no more, drains every session, and completes when none is left.
  void Drain(UniqueFunction<void()> done);

  /// Aborts all sessions now.
  void Close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stout::http
