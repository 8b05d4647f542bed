#pragma once

#include <chrono>
#include <cstddef>

namespace stout::http {

/// Bounds on what clients may take. Every one protects the server from a client that asks for too
/// much or answers too slowly.
struct HttpOptions {
  /// Connections at once; further ones are told 503. >= 1.
  std::size_t max_connections = 10'000;
  /// Requests of one connection that may wait for their answers; it is not read beyond. >= 1.
  std::size_t max_pipelined = 256;
  /// Bytes of a request line and header fields, of a trailer, or of the line of a chunk; beyond it
  /// 431. >= 256.
  std::size_t max_header_bytes = 8192;
  /// Bytes of a request body; beyond it 413. >= 1.
  std::size_t max_body_bytes = std::size_t{1} << 20;
  /// Bytes of the request bodies in memory, over all connections: see BodyBudget. Connections are
  /// not read beyond it; a body that is larger by itself is answered 413. >= 1.
  std::size_t max_body_bytes_in_flight = std::size_t{64} << 20;
  /// A connection without a request for this long is closed. > 0.
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);
  /// From the first byte of a request to its last (else 408), and for the client to take what it is
  /// sent (else the connection is closed). > 0.
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(30);
};

}  // namespace stout::http
