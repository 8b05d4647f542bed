#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resp/client/address.h"
#include "resp/client/commands.h"
#include "resp/client/reply.h"
#include "resp/client/tls_layer.h"
#include "stout/adapters/name_lookup.h"
#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::resp {

// A server, and how it is met.
struct Peer {
  std::string name;  // In the log: "redis 10.0.0.7:6379".
  Address address;
  Commands greeting;  // Said first, if there is any. A server that answers it an error is left.
  Duration timeout;   // For the answers to commands.
  Duration connect_timeout;  // For all until the greeting is answered.
  bool reports = true;       // Its errors and late answers are logged.
  // Makes TLS over a socket that is connected. Null: the server speaks no TLS.
  std::function<std::unique_ptr<TlsLayer>(TlsLayer::Socket&)> make_tls{};
};

// The outcome of a round trip.
struct Outcome {
  // kOk: every command has an answer, which may be an error. kUnknown: the connection was lost on
  // the way. While connecting: kTransient, or kBadUrl if the server refuses.
  Errc errc = Errc::kOk;
  std::string message{};
  std::vector<Reply> replies{};  // One a command, if kOk. Otherwise those that came before.
  bool late = false;             // The time was over then.
  bool malformed = false;        // The last bytes are not of the protocol.
};

// A connection to a server that speaks RESP, version 2. Its coroutines run one at a time, on the
// executor's strand, and must have ended before it is destroyed.
class Connection {
 public:
  Connection(std::shared_ptr<const Peer> peer, const boost::asio::any_io_executor& strand);

  // Connects and greets; the replies are those to the greeting.
  [[nodiscard]] boost::asio::awaitable<Outcome> Open();
  // The same, for a pool: empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  // False: nothing has been connected, or it broke, perhaps while nobody used it.
  [[nodiscard]] bool Usable();

  // Sends the commands at once and waits for all answers: one round trip.
  [[nodiscard]] boost::asio::awaitable<Outcome> Run(const Commands& commands);

  // Ends what is running, as if its time were over.
  void Expire();

  // Ends the connection, of which nothing may be running; Connect() makes a new one.
  void Drop();
  // And warns: an answer is not of the shape that its command answers in. The connection may have
  // answers that are not ours, so that whatever follows cannot be trusted either.
  void Distrust();

  // For good: ends what waits, which then finds the connection lost.
  void Close();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  using Socket = TlsLayer::Socket;
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;

  [[nodiscard]] boost::asio::awaitable<Outcome> Handshake();
  // Empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Reach();
  [[nodiscard]] boost::asio::awaitable<Outcome> Exchange(const Commands& commands);
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> Write(std::string_view bytes);
  [[nodiscard]] boost::asio::awaitable<Outcome> Answers(std::size_t count);
  // The same for any of them, ended when the time is over.
  [[nodiscard]] boost::asio::awaitable<Outcome> Within(Duration timeout,
                                                       boost::asio::awaitable<Outcome> work);
  // Makes waiting operations find the connection lost.
  void Cancel();

  // Logs an error that the server answered, or that it did not answer in time.
  void Report(const Outcome& outcome);
  // Once while `what` is the same.
  void Warn(std::string_view what, std::string_view text);

  const std::shared_ptr<const Peer> peer_;
  NameLookup<boost::asio::any_io_executor> lookup_;
  Socket socket_;
  std::unique_ptr<TlsLayer> tls_;  // Over the socket. Null: there is none.
  ReplyReader reader_;
  std::array<char, 65536> input_;
  std::string warned_of_;
  bool late_ = false;  // The time of what is running is over.
  bool closed_ = false;
};

}  // namespace stout::resp
