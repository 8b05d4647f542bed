#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "protocol.h"
#include "resp/client/connection.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

using resp::Outcome;

// "10.0.0.7:6379", or the path of a socket.
[[nodiscard]] std::string NameOf(const RedisAddress& address);

// The target of a connection, and its greeting.
struct Target {
  RedisAddress address;
  std::size_t database = 0;
};

// A connection to a Redis, which it gives the scripts.
class Connection : public resp::Connection {
 public:
  Connection(const std::shared_ptr<const RedisOptions>& options, const Target& target,
             const boost::asio::any_io_executor& strand);

  // As Run(), and if the server has lost the scripts, gives it them and sends the commands again:
  // all of them must bear to be repeated.
  [[nodiscard]] boost::asio::awaitable<Outcome> RunScripts(const Commands& commands);
};

}  // namespace stout::redis
