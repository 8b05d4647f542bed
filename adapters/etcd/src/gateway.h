#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/error_log.h"
#include "stout/adapters/name_lookup.h"
#include "stout/core/errc.h"
#include "stout/core/types.h"
#include "stout/error.h"

namespace stout::etcd {

// The host of HOST:PORT. An IPv6 address has brackets, "[::1]:2379", which the resolver does not
// take.
[[nodiscard]] std::string_view HostOf(std::string_view endpoint);

// The outcome of a call.
struct Reply {
  // kOk: done. kTransient: there was no connection. kUnknown: the connection was lost, or etcd says
  // that it failed.
  Errc errc = Errc::kOk;
  bool not_found = false;  // etcd's answer for a lease that has ended
  std::string message{};
  boost::json::value body{};
};

// A connection to one of the endpoints of etcd's JSON gateway. Its coroutines run one at a time, on
// the executor's strand, and must have ended before it is destroyed.
class Gateway {
 public:
  // `endpoints`, HOST:PORT each and not none, must outlive it.
  Gateway(const std::vector<std::string>& endpoints, Duration timeout,
          const boost::asio::any_io_executor& strand);

  // Makes a connection, to the next endpoint if this one is not there, unless there is one. Empty,
  // or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  // It may have been cut since: Call() sees to that.
  [[nodiscard]] bool Usable() const { return stream_.has_value(); }

  // POSTs a message. A kept connection may have been cut unnoticed. A call that fails on it is
  // repeated on a new one, which is safe because all calls are idempotent.
  [[nodiscard]] boost::asio::awaitable<Reply> Call(std::string_view path, std::string body);

  // POSTs a message that is answered by a stream of messages. Read them by Next() until it is cut
  // or silent for too long. The connection is gone then.
  [[nodiscard]] boost::asio::awaitable<bool> OpenStream(std::string_view path, std::string body);
  [[nodiscard]] boost::asio::awaitable<std::optional<boost::json::value>> Next(Duration silence);

  // Logs "ENDPOINT: why a call failed", but not each time.
  void Report(const std::string& what);

  // Ends the connection, of which nothing may be running; Connect() makes a new one.
  void Drop();

  // For good: ends what waits, which then finds the connection lost.
  void Close();

 private:
  using Stream = boost::beast::tcp_stream;

  // As Connect().
  [[nodiscard]] boost::asio::awaitable<std::string> ConnectTo(std::string_view endpoint);
  [[nodiscard]] boost::asio::awaitable<bool> Send(std::string_view path, std::string body);
  [[nodiscard]] boost::asio::awaitable<std::optional<Reply>> Receive();
  // The connection, and the endpoint's turn.
  void GiveUp();
  // Logs why the last Send() or Receive() failed.
  void ReportLost();

  const std::vector<std::string>& endpoints_;
  const Duration timeout_;
  const boost::asio::any_io_executor strand_;
  NameLookup<boost::asio::any_io_executor> lookup_;
  std::size_t endpoint_ = 0;
  std::optional<Stream> stream_;
  boost::beast::flat_buffer buffer_;
  // Parser of an open stream.
  std::optional<boost::beast::http::response_parser<boost::beast::http::buffer_body>> parser_;
  std::string lines_;  // Read, and not yet given out.
  ErrorCode failed_;   // of the last Send() or Receive()
  ErrorLog errors_;
  bool closed_ = false;
};

}  // namespace stout::etcd
