#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stout::http {

/// Limits that protect the server from clients that send excessive data, or send or read too
/// slowly.
struct HttpOptions {
  /// Maximum open connections. The server answers further connections with 503. >= 1.
  std::size_t max_connections = 10'000;
  /// Maximum unanswered requests per connection. At this number, the server stops reading. >= 1.
  std::size_t max_pipelined = 256;
  /// Maximum bytes of a request line with its header fields, of a trailer, or of the line of a
  /// chunk. The server answers larger ones with 431. >= 256.
  std::size_t max_header_bytes = 8192;
  /// Maximum bytes of a request body. The server answers larger ones with 413. >= 1.
  std::size_t max_body_bytes = std::size_t{1} << 20;
  /// Maximum bytes of request bodies in memory, over all connections: see BodyBudget. At this
  /// limit, a connection with a new body is not read. A single body above it is answered with 413.
  /// >= 1.
  std::size_t max_body_bytes_in_flight = std::size_t{64} << 20;
  /// The server closes a connection that has had no request for this time. > 0.
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);
  /// Maximum time from the first byte of a request to its last; a longer one is answered with 408.
  /// Also the maximum time for one write to the client; after it the connection is closed. > 0.
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(30);
  /// Minimum average rate of a request body, in bytes per second. It counts from the moment when
  /// the body has its share of memory. After body_grace, a slower body is answered with 408. 0: any
  /// rate.
  ///
  /// The default cuts a client that stalls after body_grace, and accepts 64 kbit/s. A body of more
  /// than 240 KiB must be faster in any case, because of request_timeout.
  std::uint64_t min_body_rate = 8 * 1024;
  /// Time before min_body_rate applies. Within the default, a packet that is lost three times in a
  /// row arrives. > 0.
  std::chrono::nanoseconds body_grace = std::chrono::seconds(10);

  /// The name of the header field that names the tenant of a request. Static text; empty: none.
  std::string_view tenant_field;

  /// Returns the longest time for the first `bytes` of a body, by min_body_rate and body_grace.
  [[nodiscard]] std::chrono::nanoseconds BodyTime(std::uint64_t bytes) const {
    if (min_body_rate == 0) return std::chrono::nanoseconds::max();
    constexpr double kMaxSeconds = 1e9;
    const double seconds = static_cast<double>(bytes) / static_cast<double>(min_body_rate);
    return std::max(body_grace, std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::duration<double>(std::min(seconds, kMaxSeconds))));
  }
};

/// The limits of a server that only has pages for operators. No request has a body, few clients ask
/// at once, and answers that wait for slow clients take little memory.
inline constexpr HttpOptions kOperatorLimits = {.max_connections = 64,
                                                .max_pipelined = 4,
                                                .max_body_bytes = 1024,
                                                .max_body_bytes_in_flight = 64 * 1024};

}  // namespace stout::http
