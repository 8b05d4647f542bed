#pragma once

#include <chrono>
#include <cstddef>

#include "http/http_options.h"

namespace stout::docstore {

struct RouterOptions {
  /// Limits for clients. The router ignores max_body_bytes, because it streams bodies. It ignores
  /// max_pipelined, because it forwards the requests of a connection one after another.
  /// max_body_bytes_in_flight limits the kept parts of bodies. A connection waits for room until
  /// request_timeout.
  http::HttpOptions http;
  /// Maximum time to retry a request, for example while its range moves, once the kept part of its
  /// body has arrived. It must exceed --lease-ttl of the servers; otherwise clients get errors when
  /// a server is killed. > 0.
  std::chrono::nanoseconds retry_timeout = std::chrono::seconds(20);
  /// Maximum time to look up a server's name and to connect to it. > 0.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(1);
  /// Maximum time for a server to answer, or to take the next part of a request. It must exceed the
  /// servers' --reply-deadline; otherwise the client does not get the server's own answer. > 0.
  std::chrono::nanoseconds answer_timeout = std::chrono::seconds(40);
  /// Maximum time for a server to answer once another server owns the range. By then its last
  /// answer is already under way, if there is one. > 0.
  std::chrono::nanoseconds last_word = std::chrono::seconds(1);
  /// Maximum bytes of a request's body that are kept for a retry, per connection.
  std::size_t kept_body_bytes = std::size_t{64} << 10;
  /// Maximum idle connections to one server.
  std::size_t max_idle = 256;
  /// Maximum time that a connection to a server is idle. It must be well below the servers'
  /// --idle-timeout. > 0.
  std::chrono::nanoseconds upstream_idle_timeout = std::chrono::seconds(10);
};

}  // namespace stout::docstore
