#pragma once

#include <chrono>
#include <cstddef>

#include "http/http_options.h"

namespace stout::docstore {

struct RouterOptions {
  /// Of clients. Bodies are streamed: max_body_bytes does not count, nor does max_pipelined, for
  /// the requests of a connection are forwarded one after another. max_body_bytes_in_flight bounds
  /// the kept parts of bodies; a connection waits for room until request_timeout.
  http::HttpOptions http;
  /// A request that cannot be served is tried again for so long: the range moves. Longer than the
  /// servers' --lease-ttl, or a killed server is felt. > 0.
  std::chrono::nanoseconds retry_timeout = std::chrono::seconds(20);
  /// For a server to accept a connection. > 0.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(1);
  /// For a server to answer, or to take the next part of a request; longer than the servers'
  /// --reply-deadline, or nobody learns how it ended. > 0.
  std::chrono::nanoseconds answer_timeout = std::chrono::seconds(40);
  /// For a server to answer once the range is another's. Its own words, if it still has any, are on
  /// their way by then. > 0.
  std::chrono::nanoseconds last_word = std::chrono::seconds(1);
  /// Bytes of a request's body that are kept for a retry, per connection.
  std::size_t kept_body_bytes = std::size_t{64} << 10;
  /// Connections to one server that wait for requests.
  std::size_t max_idle = 256;
  /// How long they wait; well below the servers' --idle-timeout. > 0.
  std::chrono::nanoseconds upstream_idle_timeout = std::chrono::seconds(10);
};

}  // namespace stout::docstore
