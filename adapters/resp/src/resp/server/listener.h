#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "resp/server/connection.h"
#include "resp/server/service.h"
#include "resp/server/stream.h"
#include "resp/server/unix_socket.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::resp {

/// Accepts the clients of a service and holds their connections. If they speak TLS, SIGHUP lets it
/// read the certificate again, for clients that come later.
///
/// Owner: outlives the run() of `context`; `service` outlives it.
/// Threads: one runs `context`, and calls all members.
class Listener {
 public:
  Listener(boost::asio::io_context& context, Service& service);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Takes the port (0: any free one), and sets the service's port. Clients wait until Start.
  /// Errors: kBadUrl if the address cannot be had, and those of LoadTls(); `diagnostics` has the
  ///   reason.
  [[nodiscard]] ErrorCode Listen(const std::string& host, std::uint16_t port,
                                 Diagnostics* diagnostics);

  /// Takes a Unix socket, too, if `options` has one. Its clients need no TLS.
  /// Errors: kBadUrl if it cannot be had; `diagnostics` has the reason.
  [[nodiscard]] ErrorCode ListenLocal(const UnixSocketOptions& options, Diagnostics* diagnostics);

  /// Accepts clients from now on. Requires that Listen succeeded.
  void Start();

  /// Accepts no client any more, and no command of a connected client. Calls `done` when the last
  /// client has its replies.
  void Drain(UniqueFunction<void()> done);

 private:
  template <typename Acceptor>
  [[nodiscard]] boost::asio::awaitable<void> Accept(Acceptor& acceptor);
  void Take(ClientSocket socket, boost::asio::ssl::context* tls);
  void SetTls(std::unique_ptr<boost::asio::ssl::context> tls);
  [[nodiscard]] boost::asio::awaitable<void> ReloadTls();
  void Refuse(ClientSocket socket);
  void EndIfDrained();

  boost::asio::io_context& context_;
  Service& service_;
  boost::asio::ip::tcp::acceptor acceptor_;
  UnixSocket local_;
  boost::asio::signal_set reload_;
  std::unordered_map<ServerConnection*, std::unique_ptr<ServerConnection>> connections_;
  std::size_t refused_ = 0;  // clients that have been told, and are still connected
  UniqueFunction<void()> drained_;
};

}  // namespace stout::resp
