#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stout::docstore {

/// A connection to a server.
struct Upstream {
  explicit Upstream(boost::asio::io_context& context) : socket(context) {}

  boost::asio::ip::tcp::socket socket;
  boost::beast::flat_buffer input;  ///< Bytes that were read and are not yet parsed.
  std::string address;              ///< "10.0.0.7:8080"
};

/// Connections to servers between two requests.
///
/// A connection that its server has closed meanwhile is not given out. It may be closed while a
/// request is on its way, which then is lost: so `idle_timeout` must be well below the servers'.
///
/// Owner: of idle connections; one that is given out is its taker's.   Threads: any.
class UpstreamPool {
 public:
  /// At most `max_idle` connections wait per server.
  UpstreamPool(std::size_t max_idle, std::chrono::nanoseconds idle_timeout)
      : max_idle_(max_idle), idle_timeout_(idle_timeout) {}

  /// An open connection to a server, or null if none waits.
  [[nodiscard]] std::unique_ptr<Upstream> Take(const std::string& address);
  /// Keeps a connection on which nothing is owed by either side, and closes those to the same
  /// server that have waited for idle_timeout.
  void Give(std::unique_ptr<Upstream> upstream);

  /// Closes connections to all but these servers. `addresses` are sorted.
  void KeepOnly(const std::vector<std::string>& addresses);

  [[nodiscard]] std::size_t idle() const;

 private:
  struct Idle {
    std::unique_ptr<Upstream> upstream;
    std::chrono::steady_clock::time_point since;
  };

  const std::size_t max_idle_;
  const std::chrono::nanoseconds idle_timeout_;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Idle>> idle_;  // by address; longest idle first
};

}  // namespace stout::docstore
