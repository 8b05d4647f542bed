#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

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
  /// Bytes per second. A body that has its room in memory must arrive at this rate on average,
  /// counted from then, once body_grace has passed (else 408). 0: any rate.
  ///
  /// The default cuts a client that stalls after body_grace, and lets through 64 kbit/s. A body of
  /// more than 240 KiB must be faster in any case, because of request_timeout.
  std::uint64_t min_body_rate = 8 * 1024;
  /// A packet that is lost three times in a row arrives within this time. > 0.
  std::chrono::nanoseconds body_grace = std::chrono::seconds(10);

  /// The longest time for the first `bytes` of a body, by min_body_rate.
  [[nodiscard]] std::chrono::nanoseconds BodyTime(std::uint64_t bytes) const {
    if (min_body_rate == 0) return std::chrono::nanoseconds::max();
    constexpr double kMostSeconds = 1e9;
    const double seconds = static_cast<double>(bytes) / static_cast<double>(min_body_rate);
    return std::max(body_grace,
                    std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::duration<double>(std::min(seconds, kMostSeconds))));
  }
};

}  // namespace stout::http
