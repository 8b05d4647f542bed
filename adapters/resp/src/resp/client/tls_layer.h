#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace stout::resp {

/// TLS between a Connection and its socket. It is an interface, so that programs without TLS need
/// no OpenSSL: see resp/client/tls.h.
///
/// Owner: the connection.   Threads: its strand; one read and one write at a time.
/// Errors: the close of the socket ends an operation with an error.
class TlsLayer {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  TlsLayer() = default;
  TlsLayer(const TlsLayer&) = delete;
  TlsLayer& operator=(const TlsLayer&) = delete;
  virtual ~TlsLayer() = default;

  /// Comes first. Returns the problem, or "".
  [[nodiscard]] virtual boost::asio::awaitable<std::string> Handshake() = 0;
  /// Writes all bytes, which stay valid until then.
  [[nodiscard]] virtual boost::asio::awaitable<boost::system::error_code> Write(
      std::span<const char> bytes) = 0;
  /// Reads some bytes, and returns their number.
  [[nodiscard]] virtual boost::asio::awaitable<std::pair<boost::system::error_code, std::size_t>>
  Read(std::span<char> room) = 0;
};

}  // namespace stout::resp
