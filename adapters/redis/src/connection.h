#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "loss_watch.h"
#include "protocol.h"
#include "resp/client/connection.h"
#include "stout/adapters/redis_options.h"
#include "stout/core/types.h"

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
//
// With a LossWatch it asks the server for its incarnation when it connects, before it sends
// anything else, and again with the commands that it sends when a second has passed.
class Connection : public resp::Connection {
 public:
  // `watch` may be null.
  Connection(const std::shared_ptr<const RedisOptions>& options, const Target& target,
             const boost::asio::any_io_executor& strand,
             std::shared_ptr<LossWatch> watch = nullptr);

  // For a pool: empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  [[nodiscard]] boost::asio::awaitable<Outcome> Run(const Commands& commands);

  // As Run(), and if the server has lost the scripts, gives it them and sends the commands again:
  // all of them must bear to be repeated.
  [[nodiscard]] boost::asio::awaitable<Outcome> RunScripts(const Commands& commands);

  // The largest epoch that the server is known to remember. It is 0 after Connect(), because the
  // server may have lost data, or be another one.
  [[nodiscard]] Epoch noted_epoch() const { return noted_epoch_; }
  void Noted(Epoch epoch) { noted_epoch_ = std::max(noted_epoch_, epoch); }

 private:
  using Clock = std::chrono::steady_clock;

  // Takes the answers to AppendAskForIncarnation().
  void Observe(std::span<const Reply> answers);

  const RedisAddress address_;
  const std::shared_ptr<LossWatch> watch_;
  Clock::time_point observed_{};
  Epoch noted_epoch_ = 0;
};

}  // namespace stout::redis
