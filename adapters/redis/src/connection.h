#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "reply.h"
#include "stout/adapters/redis_options.h"
#include "stout/core/errc.h"

namespace stout::redis {

// "10.0.0.7:6379", or the path of a socket.
[[nodiscard]] std::string NameOf(const RedisAddress& address);

// Where a connection leads, and what it says first.
struct Target {
  RedisAddress address;
  std::size_t database = 0;
};

// What became of a round trip.
struct Outcome {
  // kOk: every command has an answer, which may be an error. kUnknown: the connection was lost on
  // the way. Of a connection that is to be made: kTransient, or kBadUrl where the server refuses.
  Errc errc = Errc::kOk;
  std::string message{};
  std::vector<Reply> replies{};  // One a command, if kOk.
};

// A connection to a server. Its coroutines run one at a time, on the executor's strand, and must
// have ended before it is destroyed.
class Connection {
 public:
  Connection(std::shared_ptr<const RedisOptions> options, Target target,
             const boost::asio::any_io_executor& strand);

  // Connects, authenticates, selects the database and loads the scripts.
  [[nodiscard]] boost::asio::awaitable<Outcome> Open();
  // The same, for a pool: empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  // False: nothing has been connected, or it broke, perhaps while nobody used it.
  [[nodiscard]] bool Usable();

  // Sends the commands at once and waits for all answers: one round trip.
  [[nodiscard]] boost::asio::awaitable<Outcome> Run(const Commands& commands);
  // And if the server has lost the scripts, gives it them and sends the commands again: all of them
  // must bear to be repeated.
  [[nodiscard]] boost::asio::awaitable<Outcome> RunScripts(const Commands& commands);

  // Ends the connection, of which nothing may be running; Connect() makes a new one.
  void Drop();

  // For good: ends what waits, which then finds the connection lost.
  void Close();

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;

  [[nodiscard]] boost::asio::awaitable<Outcome> Handshake();
  // Empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Reach();
  [[nodiscard]] boost::asio::awaitable<Outcome> Exchange(const Commands& commands);
  // The same for any of them, ended when the time is over.
  [[nodiscard]] boost::asio::awaitable<Outcome> Within(Duration timeout,
                                                       boost::asio::awaitable<Outcome> work);
  // What waits finds the connection lost.
  void Cancel();
  [[nodiscard]] Commands Greeting() const;

  // Warns of an error that the server answers, once while it is the same.
  void Report(const Outcome& outcome);

  const std::shared_ptr<const RedisOptions> options_;
  const Target target_;
  boost::asio::ip::tcp::resolver resolver_;
  Socket socket_;
  ReplyReader reader_;
  std::array<char, 65536> input_;
  std::string reported_;
  bool late_ = false;  // The time of what is running is over.
  bool closed_ = false;
};

}  // namespace stout::redis
