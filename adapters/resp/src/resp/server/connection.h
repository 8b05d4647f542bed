#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "resp/server/batch.h"
#include "resp/server/command_parser.h"
#include "resp/server/receive_buffer.h"
#include "resp/server/service.h"
#include "resp/server/session.h"
#include "resp/server/stream.h"
#include "resp/server/words.h"

namespace stout::resp {

/// The connection of a client. It reads commands, has all that have come carried out together,
/// writes the replies, and then looks at what came meanwhile. So a client can pipeline without a
/// limit, and the server holds one batch of it.
///
/// Threads: the executor's of its socket; one at a time.
class ServerConnection {
 public:
  /// `tls`: null for a connection without TLS. If there are max_clients already, only another
  /// server may have it (ConnectionLimits::max_servers). `service` outlives the connection.
  ServerConnection(ClientSocket socket, boost::asio::ssl::context* tls, Service& service);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection();

  /// Until the client goes, or Drain(). It lives as long as this runs.
  [[nodiscard]] boost::asio::awaitable<void> Run();

  /// No command is taken any more; replies that are due are written.
  void Drain();

 private:
  [[nodiscard]] boost::asio::awaitable<void> Serve();
  [[nodiscard]] boost::asio::awaitable<void> Handshake();
  // Judges the first command. Returns false if it is a client's, and there are too many.
  [[nodiscard]] bool Admits(std::string_view command);
  // Parses the input into a batch. Returns false if there is no whole command.
  [[nodiscard]] bool Gather();
  [[nodiscard]] boost::asio::awaitable<void> CarryOut();
  // Throws, as Asio does, if the client is gone or too slow.
  [[nodiscard]] boost::asio::awaitable<void> WriteReplies();

  Stream stream_;
  Service& service_;
  Session session_;
  ReceiveBuffer input_;
  CommandParser parser_;
  Words words_;
  std::unique_ptr<Batch> batch_;
  std::string replies_;
  bool is_client_;         // counts as one of max_clients
  bool admitted_ = false;  // its first command, beside AUTH, has come
  bool reading_ = false;
  bool draining_ = false;
};

}  // namespace stout::resp
