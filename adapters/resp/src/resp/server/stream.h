#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace stout::resp {

/// A client's socket, of TCP or a Unix socket.
using ClientSocket = boost::asio::generic::stream_protocol::socket;

/// The bytes of a client's connection: plain, or inside TLS.
///
/// Threads: the executor's of its socket; one at a time.
class Stream {
 public:
  /// `tls`: null for plain bytes. It need not outlive the stream.
  Stream(ClientSocket socket, boost::asio::ssl::context* tls)
      : socket_(std::move(socket)), tls_(tls ? std::make_unique<Tls>(socket_, *tls) : nullptr) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);  // for WriteNow
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Its close() ends all operations with an error.
  [[nodiscard]] ClientSocket& socket() { return socket_; }
  [[nodiscard]] bool has_tls() const { return tls_ != nullptr; }

  /// Requires has_tls(). Comes before all reads and writes.
  template <typename Token>
  auto AsyncHandshake(Token&& token) {
    return tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Token>(token));
  }
  /// Requires has_tls(). Sends close_notify, and then waits for that of the client.
  template <typename Token>
  auto AsyncShutdown(Token&& token) {
    return tls_->async_shutdown(std::forward<Token>(token));
  }
  /// Writes what goes without waiting, and returns how much that was: nothing with TLS. An error
  /// shows in the next AsyncWriteSome.
  template <typename Buffer>
  std::size_t WriteNow(const Buffer& buffer) {
    if (tls_) return 0;
    boost::system::error_code failed;
    const std::size_t size = socket_.write_some(buffer, failed);
    return failed ? 0 : size;
  }
  /// As Asio's async_read_some. TLS gives at most one record, 16 KiB.
  template <typename Buffer, typename Token>
  auto AsyncReadSome(const Buffer& buffer, Token&& token) {
    if (!tls_) return socket_.async_read_some(buffer, std::forward<Token>(token));
    return tls_->async_read_some(buffer, std::forward<Token>(token));
  }
  /// As Asio's async_write_some. TLS takes at most one record, 16 KiB.
  template <typename Buffer, typename Token>
  auto AsyncWriteSome(const Buffer& buffer, Token&& token) {
    if (!tls_) return socket_.async_write_some(buffer, std::forward<Token>(token));
    return tls_->async_write_some(buffer, std::forward<Token>(token));
  }

 private:
  using Tls = boost::asio::ssl::stream<ClientSocket&>;

  ClientSocket socket_;
  const std::unique_ptr<Tls> tls_;
};

}  // namespace stout::resp
