#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "batch.h"
#include "command_parser.h"
#include "receive_buffer.h"
#include "service.h"
#include "session.h"
#include "words.h"

namespace stout::blowfish {

struct ConnectionLimits {
  CommandLimits commands;
  /// A client that takes none of its replies for this time is disconnected.
  Duration write_timeout = std::chrono::seconds(30);
  /// A client that takes fewer bytes per second on average is also disconnected. It has
  /// write_timeout, and one second for each min_read_rate bytes of its replies. > 0
  std::size_t min_read_rate = std::size_t{64} << 10;
  /// Maximum bytes of values that one shard gives to one batch; more is an error. All replies of a
  /// batch may have this number of bytes for each shard, and once more. Beyond that the connection
  /// is closed.
  std::size_t max_replies = std::size_t{512} << 20;
};

/// A client: reads its commands, has all that have come carried out together, writes the replies,
/// and only then looks at what came meanwhile. So a client can have as much under way as it likes,
/// and the server holds one batch of it.
///
/// Threads: the executor's of its socket; one at a time.
class Connection {
 public:
  /// `service` and `limits` outlive it.
  Connection(boost::asio::ip::tcp::socket socket, Service& service, const ConnectionLimits& limits);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Until the client goes, or Drain(). It lives as long as this runs.
  [[nodiscard]] boost::asio::awaitable<void> Run();

  /// No command is taken any more; replies that are due are written.
  void Drain();

 private:
  [[nodiscard]] boost::asio::awaitable<void> Serve();
  // Parses what has come into a batch. False: there is nothing whole.
  [[nodiscard]] bool Gather();
  [[nodiscard]] boost::asio::awaitable<void> CarryOut();
  [[nodiscard]] boost::asio::awaitable<void> Dispatch();
  // Throws, as Asio does, if the client is gone or too slow.
  [[nodiscard]] boost::asio::awaitable<void> WriteReplies();

  boost::asio::ip::tcp::socket socket_;
  Service& service_;
  const ConnectionLimits& limits_;
  Session session_;
  ReceiveBuffer input_;
  CommandParser parser_;
  Words words_;
  Batch batch_;
  std::string replies_;
  bool reading_ = false;
  bool draining_ = false;
};

}  // namespace stout::blowfish
